package health

import "context"

// What tests look at one by one.
var (
	JudgeDisk        = judgeDisk
	JudgeDescriptors = judgeDescriptors
)

// Reach are the checks that ask the network.
func (s *Service) Reach(ctx context.Context) []Check {
	return append(s.checkBaseURL(ctx), s.checkBounces(ctx)...)
}

// Network returns how the service reaches the world.
func (s *Service) Network() Network { return s.network }
