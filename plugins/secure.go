package plugins

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tensortapestry.org/tapc/plugins/certificate"
)

// clientVariable is where the handshake library of tapc's side puts its certificate.
const clientVariable = "PLUGIN_CLIENT_CERT"

// secured is the plugin's side of the connection: its own certificate, and tapc's as the only one that is let in.
func secured() (*tls.Config, error) {
	own, err := certificate.New()
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(os.Getenv(clientVariable))) {
		return nil, errors.New(clientVariable + " holds no certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, RootCAs: pool,
		MinVersion: tls.VersionTLS12, ServerName: "localhost"}, nil
}

// certificateField is the place of the plugin's certificate in the handshake.
const certificateField = 5

// announce copies the handshake line, which the library writes without the certificate that it did not make, and puts the
// certificate in its place.
func announce(to io.Writer, from io.Reader, der []byte) error {
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
	if len(fields) <= certificateField {
		return fmt.Errorf("the handshake has %d fields", len(fields))
	}
	fields[certificateField] = base64.RawStdEncoding.EncodeToString(der)
	_, err = fmt.Fprintln(to, strings.Join(fields, "|"))
	return err
}
