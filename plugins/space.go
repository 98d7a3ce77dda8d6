package plugins

import (
	"context"
	"math/rand/v2"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tensortapestry.org/tapc/plugins/proto"
)

// OpenSpace keeps what is searched.
func (s *server) OpenSpace(_ context.Context, m *proto.Space) (*proto.SpaceOpened, error) {
	x := &Space{Devices: m.Devices, Machine: m.Machine}
	for _, g := range m.Genes {
		x.Genes = append(x.Genes, Gene{g.Name, g.Values})
	}
	s.space.Lock()
	s.space.space = x
	s.space.Unlock()
	return &proto.SpaceOpened{}, nil
}

// searched gives the space, or the status of a call that came before it.
func (s *server) searched() (*Space, error) {
	s.space.Lock()
	defer s.space.Unlock()
	if s.space.space == nil {
		return nil, status.Error(codes.FailedPrecondition, "no space is open")
	}
	return s.space.space, nil
}

// Mutate changes trials.
func (s *server) Mutate(ctx context.Context, m *proto.MutateRequest) (*proto.MutateReply, error) {
	x, err := s.searched()
	if err != nil {
		return nil, err
	}
	mutator, ok := find(s.plugin.Mutators, func(p *Mutator) bool { return p.Name == m.Mutator })
	if !ok || len(m.Seeds) != len(m.Trials) {
		return nil, status.Errorf(codes.Unimplemented, "there is no mutator %q, or there are other seeds than trials", m.Mutator)
	}
	out := &proto.MutateReply{}
	err = guard(func() error {
		for i, t := range m.Trials {
			trial, changed := numbers(t), &proto.Trial{}
			if mutator.Mutate(ctx, x, rand.New(rand.NewPCG(m.Seeds[i], 0)), trial) {
				for _, v := range trial {
					changed.Values = append(changed.Values, uint32(v))
				}
			}
			out.Trials = append(out.Trials, changed)
		}
		return ctx.Err()
	})
	return out, failure(err)
}

// Charge prices trials.
func (s *server) Charge(ctx context.Context, m *proto.ChargeRequest) (*proto.ChargeReply, error) {
	x, err := s.searched()
	if err != nil {
		return nil, err
	}
	term, ok := find(s.plugin.Terms, func(p *Term) bool { return p.Name == m.Term })
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "there is no cost term %q", m.Term)
	}
	out := &proto.ChargeReply{}
	err = guard(func() error {
		for _, t := range m.Trials {
			c, err := term.Cost(ctx, x, numbers(t))
			if err != nil {
				return err
			}
			out.Costs = append(out.Costs, c)
		}
		return ctx.Err()
	})
	return out, failure(err)
}

// failure is the status of an error of the author's.
func failure(err error) error {
	if err == nil {
		return nil
	}
	_, rest := findings(err)
	if rest == nil {
		rest = status.Error(codes.Unknown, err.Error())
	}
	return rest
}

func numbers(t *proto.Trial) []int {
	out := make([]int, len(t.Values))
	for i, v := range t.Values {
		out[i] = int(v)
	}
	return out
}
