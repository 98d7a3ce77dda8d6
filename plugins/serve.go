package plugins

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"tensortapestry.org/tapc/plugins/proto"
)

// Handshake is what tapc and a plugin must agree on before they speak. The cookie keeps a plugin from waiting for ever when
// somebody starts it by hand; it is no secret.
var Handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  ProtocolMajor,
	MagicCookieKey:   "TAPC_PLUGIN",
	MagicCookieValue: "tapc-plugin-5d1c6b9e",
}

// Service is the name of the plugin's service in the handshake library's tables.
const Service = "tapc"

// Serve is the whole of a plugin's main function: it speaks with tapc over gRPC until tapc goes away, then ends the process.
// What the plugin prints goes to standard error, also what it prints to standard output, which belongs to the handshake.
func Serve(p Plugin) {
	if err := p.Validate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(Handshake.MagicCookieKey) != Handshake.MagicCookieValue {
		fmt.Fprintf(os.Stderr, "%s %s is a plugin for tapc and does nothing by itself. Use it with\n  tapc opt --plugin %s ...\n",
			p.Name, p.Version, os.Args[0])
		os.Exit(1)
	}
	config, err := secured()
	if err == nil {
		err = handshake(config.Certificates[0].Certificate[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "handshake:", err)
		os.Exit(1)
	}
	go exitWithHost()
	stderr := os.Stderr
	serve(&p, config, func() { os.Stdout, os.Stderr = stderr, stderr })
	os.Exit(0)
}

// handshake takes standard output for the handshake alone: the line that the library prints, with the plugin's certificate.
func handshake(der []byte) error {
	real, err := takeStdout()
	if err != nil {
		return err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	os.Stdout = in
	go func() {
		if err := announce(real, out, der); err != nil {
			fmt.Fprintln(os.Stderr, "handshake:", err)
			os.Exit(1)
		}
	}()
	return nil
}

// serve runs the server; ready is called once, before the first call is answered.
func serve(p *Plugin, config *tls.Config, ready func()) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: Handshake,
		TLSProvider:     func() (*tls.Config, error) { return config, nil },
		VersionedPlugins: map[int]goplugin.PluginSet{
			ProtocolMajor: {Service: &adapter{plugin: p, ready: ready}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, ServerOptions()...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Warn, JSONFormat: true}),
	})
}

// adapter is the plugin as the handshake library sees it.
type adapter struct {
	goplugin.NetRPCUnsupportedPlugin
	plugin *Plugin
	ready  func()
}

// GRPCServer adds the service.
func (a *adapter) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterPluginServer(s, &server{plugin: a.plugin, ready: a.ready})
	return nil
}

// GRPCClient is the host's side, which is not here.
func (a *adapter) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is a plugin, not a host")
}

// exitWithHost ends the process when standard input ends: tapc holds the other end of that pipe and never writes to it, so
// its end means that tapc is gone, however it died.
func exitWithHost() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
