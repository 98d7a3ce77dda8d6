package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
)

// side gives the configuration of one side that takes nobody but the owner of a certificate.
func side(t *testing.T, own tls.Certificate, other tls.Certificate) *tls.Config {
	t.Helper()
	parsed, err := x509.ParseCertificate(other.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, ServerName: "localhost"}
}

// meet lets two sides shake hands and gives the error of the server, which comes last.
func meet(client, server *tls.Config) error {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go io.Copy(io.Discard, tls.Client(a, client)) // shakes hands and takes the alert of a server that does not let it in
	return tls.Server(b, server).Handshake()
}

func TestOnlyTheTwoMeet(t *testing.T) {
	var certs [3]tls.Certificate
	for i := range certs {
		var err error
		if certs[i], err = New(); err != nil {
			t.Fatal(err)
		}
	}
	if err := meet(side(t, certs[0], certs[1]), side(t, certs[1], certs[0])); err != nil {
		t.Errorf("the two do not meet: %v", err)
	}
	if err := meet(side(t, certs[2], certs[1]), side(t, certs[1], certs[0])); err == nil {
		t.Error("a stranger is let in")
	}
}
