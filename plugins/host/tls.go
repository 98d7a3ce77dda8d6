package host

import (
	"crypto/tls"
	"encoding/pem"

	"tensortapestry.org/tapc/plugins/certificate"
)

// secure makes tapc's side of the connection for one start of a plugin, and the text in which the plugin gets tapc's
// certificate.
func secure() (*tls.Config, string, error) {
	own, err := certificate.New()
	if err != nil {
		return nil, "", err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
	return &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12, ServerName: "localhost"}, text, nil
}
