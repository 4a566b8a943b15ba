package webhooks

import "mailer/app/kit/fair"

const (
	// maxConcurrent bounds the running attempts.
	maxConcurrent = 128
	// maxSlowConcurrent bounds attempts to endpoints whose last attempt failed or was slow, so that
	// dead endpoints always leave slots for others.
	maxSlowConcurrent = maxConcurrent / 2
	// maxPerHost bounds attempts to one host, for all teams together, and maxPerEndpoint those to
	// one endpoint.
	maxPerHost     = 16
	maxPerEndpoint = 8
)

// newTeamSlots returns a number of attempt slots that teams share. A team can take no more of the
// free slots than it would leave: an attempt can hold a slot for ten seconds and is not interrupted
// for another team.
func newTeamSlots(size int64) *fair.Semaphore[string] {
	return fair.New(fair.Config[string]{Capacity: size, LeaveHalf: true})
}

// slotKey is the team and the host of an attempt.
type slotKey struct {
	team, host string
	slow       bool // the endpoint's last attempt failed or was slow
}

// attemptSlots counts the attempts that are running or about to begin. An attempt holds one slot in
// total, one of its host, and one of the slow ones if it may be slow. The dispatcher never waits
// for slots: it is not safe for concurrent use.
type attemptSlots struct {
	all, slow *fair.Semaphore[string]
	hosts     map[string]*fair.Semaphore[string] // only hosts with attempts
}

func newAttemptSlots() *attemptSlots {
	return &attemptSlots{all: newTeamSlots(maxConcurrent), slow: newTeamSlots(maxSlowConcurrent), hosts: map[string]*fair.Semaphore[string]{}}
}

// host returns the slots of a host.
func (p *attemptSlots) host(name string) *fair.Semaphore[string] {
	if host := p.hosts[name]; host != nil {
		return host
	}
	return newTeamSlots(maxPerHost)
}

// free returns how many more attempts may begin.
func (p *attemptSlots) free(s slotKey) int {
	n := min(p.all.Free(s.team), p.host(s.host).Free(s.team))
	if s.slow {
		n = min(n, p.slow.Free(s.team))
	}
	return int(n)
}

// take takes n slots, which must be free.
func (p *attemptSlots) take(s slotKey, n int) {
	host := p.host(s.host)
	p.hosts[s.host] = host
	p.all.TryAcquire(s.team, int64(n))
	host.TryAcquire(s.team, int64(n))
	if s.slow {
		p.slow.TryAcquire(s.team, int64(n))
	}
}

// release returns n slots.
func (p *attemptSlots) release(s slotKey, n int) {
	host := p.hosts[s.host]
	p.all.Release(s.team, int64(n))
	if s.slow {
		p.slow.Release(s.team, int64(n))
	}
	if host.Release(s.team, int64(n)); host.Usage(s.team).Used == 0 {
		delete(p.hosts, s.host)
	}
}
