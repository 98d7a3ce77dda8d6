package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"math/big"
	"strconv"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/plugins"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
)

type answers = grpc.BidiStreamingServer[proto.PassInput, proto.PassOutput]

// raws are the things done wrong below the SDK: messages that it would never send.
var raws = map[string]func(answers, []byte) error{
	"truncated": func(call answers, g []byte) error {
		return errors.Join(chunk(call, g[:len(g)-7]), done(call, false))
	},
	"garbage": func(call answers, _ []byte) error {
		return errors.Join(chunk(call, bytes.Repeat([]byte{0xff, 0x13}, 500)), done(call, false))
	},
	"not-a-message": func(call answers, _ []byte) error {
		return call.SendMsg(&proto.DescribeRequest{TapcVersion: "\x00what"})
	},
	"oversized-message": func(call answers, _ []byte) error {
		return chunk(call, make([]byte, stream.MaxMessage+1))
	},
	"endless-graph": func(call answers, g []byte) error {
		for {
			if err := chunk(call, g); err != nil { // a graph behind a graph is one graph with more nodes
				return err
			}
		}
	},
	"endless-field": func(call answers, _ []byte) error {
		head := []byte{0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f} // nodes: a field of 4 GiB
		for {
			if err := chunk(call, head); err != nil {
				return err
			}
			head = make([]byte, stream.ChunkSize)
		}
	},
	"empty-chunks": func(call answers, _ []byte) error {
		for {
			if err := chunk(call, nil); err != nil {
				return err
			}
		}
	},
	"no-graph":     func(call answers, _ []byte) error { return done(call, false) },
	"no-done":      func(call answers, g []byte) error { return chunk(call, g) },
	"both":         func(call answers, g []byte) error { return errors.Join(chunk(call, g), done(call, true)) },
	"after-done":   func(call answers, g []byte) error { return errors.Join(done(call, true), chunk(call, g)) },
	"many-reports": manyReports,
	"early": func(call answers, g []byte) error { // before it has read anything: not wrong, but unusual
		return done(call, true)
	},
	"stays":     func(call answers, g []byte) error { return done(call, true) },
	"half-read": func(call answers, g []byte) error { select {} },
}

func manyReports(call answers, _ []byte) error {
	for i := 0; ; i++ {
		log := &proto.Log{Message: strconv.Itoa(i)}
		if err := call.Send(&proto.PassOutput{Part: &proto.PassOutput_Log{Log: log}}); err != nil {
			return err
		}
	}
}

func chunk(call answers, b []byte) error {
	return call.Send(&proto.PassOutput{Part: &proto.PassOutput_Graph{Graph: b}})
}

func done(call answers, unchanged bool) error {
	return call.Send(&proto.PassOutput{Part: &proto.PassOutput_Done{Done: &proto.PassDone{Unchanged: unchanged}}})
}

// rawServer answers with what a function sends, given the graph as it came.
type rawServer struct {
	proto.UnimplementedPluginServer
	answer func(answers, []byte) error
}

func (s *rawServer) Describe(context.Context, *proto.DescribeRequest) (*proto.Description, error) {
	return &proto.Description{Name: "misbehave", Version: "1.0.0", Passes: []*proto.Pass{{Name: "pass", Doc: "Do the wrong thing."}}}, nil
}

func (s *rawServer) RunPass(call answers) error {
	g, err := stream.Receive(func() ([]byte, error) {
		for {
			m, err := call.Recv()
			if err != nil || m.GetGraph() != nil {
				return m.GetGraph(), err
			}
		}
	}, stream.NoLimit)
	if err != nil {
		return err
	}
	text, err := wire.Marshal(g)
	if err != nil {
		return err
	}
	return s.answer(call, text)
}

// serveRaw serves without the SDK.
func serveRaw(answer func(answers, []byte) error) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  plugins.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{1: {plugins.Service: &rawAdapter{answer: answer}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, plugins.ServerOptions()...)...)
		},
	})
}

type rawAdapter struct {
	goplugin.NetRPCUnsupportedPlugin
	answer func(answers, []byte) error
}

func (a *rawAdapter) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterPluginServer(s, &rawServer{answer: a.answer})
	return nil
}

func (a *rawAdapter) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("not a host")
}

// someCertificate makes a certificate for a handshake.
func someCertificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return base64.RawStdEncoding.EncodeToString(der)
}
