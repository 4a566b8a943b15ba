package webhooks

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

// teamSlots is a number of attempt slots that teams share. A team can take no more of the free
// slots than it would leave: one team alone gets half of the slots, two teams a third each, and a
// slot is always left for the next team. This matters since an attempt can hold a slot for ten
// seconds and is not interrupted for another team.
type teamSlots struct {
	size  int
	used  int
	teams map[string]int // by team id; only teams that hold slots
}

func newTeamSlots(size int) *teamSlots { return &teamSlots{size: size, teams: map[string]int{}} }

// free returns how many more slots a team may take.
func (p *teamSlots) free(team string) int {
	return max(0, (p.size-p.used-p.teams[team]+1)/2)
}

// take takes n slots for a team; a negative n returns them.
func (p *teamSlots) take(team string, n int) {
	p.used += n
	p.teams[team] += n
	if p.teams[team] == 0 {
		delete(p.teams, team)
	}
}

// slotKey is the team and the host of an attempt.
type slotKey struct {
	team, host string
	slow       bool // the endpoint's last attempt failed or was slow
}

// attemptSlots counts the attempts that are running or about to begin. An attempt holds one slot in
// total, one of its host, and one of the slow ones if it may be slow.
type attemptSlots struct {
	all, slow *teamSlots
	hosts     map[string]*teamSlots // only hosts with attempts
}

func newAttemptSlots() *attemptSlots {
	return &attemptSlots{all: newTeamSlots(maxConcurrent), slow: newTeamSlots(maxSlowConcurrent), hosts: map[string]*teamSlots{}}
}

// free returns how many more attempts may begin.
func (p *attemptSlots) free(s slotKey) int {
	n := p.all.free(s.team)
	if s.slow {
		n = min(n, p.slow.free(s.team))
	}
	if host := p.hosts[s.host]; host != nil {
		return min(n, host.free(s.team))
	}
	return min(n, newTeamSlots(maxPerHost).free(s.team))
}

// take takes n slots; a negative n returns them.
func (p *attemptSlots) take(s slotKey, n int) {
	p.all.take(s.team, n)
	if s.slow {
		p.slow.take(s.team, n)
	}
	host := p.hosts[s.host]
	if host == nil {
		host = newTeamSlots(maxPerHost)
		p.hosts[s.host] = host
	}
	if host.take(s.team, n); host.used == 0 {
		delete(p.hosts, s.host)
	}
}
