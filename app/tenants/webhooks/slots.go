package webhooks

const (
	// maxConcurrent bounds the attempts that are under way at once.
	maxConcurrent = 128
	// maxSlowConcurrent bounds those to endpoints whose last attempt failed or took
	// slowAttempt or longer: dead ones always leave room for others.
	maxSlowConcurrent = maxConcurrent / 2
	// maxPerHost bounds those to one host, whoever's endpoints are there, and maxPerEndpoint
	// those to one endpoint.
	maxPerHost     = 16
	maxPerEndpoint = 8
)

// teamSlots is a number of places for attempts that teams share. Of what is left a team
// can have no more than it holds, so that one team alone has half of the pool, two
// have a third each, and there is always a place for the next team: an attempt can
// hold its place for ten seconds, and is not ended for the sake of another.
type teamSlots struct {
	size  int
	used  int
	teams map[string]int // by their ids; those that hold none are not in it
}

func newTeamSlots(size int) *teamSlots { return &teamSlots{size: size, teams: map[string]int{}} }

// free returns how many places more a team may take.
func (p *teamSlots) free(team string) int {
	return max(0, (p.size-p.used-p.teams[team]+1)/2)
}

// take takes places for a team; a negative n returns them.
func (p *teamSlots) take(team string, n int) {
	p.used += n
	p.teams[team] += n
	if p.teams[team] == 0 {
		delete(p.teams, team)
	}
}

// slotKey is whose an attempt is and where it goes.
type slotKey struct {
	team, host string
	slow       bool // to an endpoint whose last attempt failed or took long
}

// attemptSlots are all attempts that are under way, or about to begin. An attempt has one
// of all places, one at its host, and, where it may take long, one of those for slow
// ones.
type attemptSlots struct {
	all, slow *teamSlots
	hosts     map[string]*teamSlots // those at which there are attempts
}

func newAttemptSlots() *attemptSlots {
	return &attemptSlots{all: newTeamSlots(maxConcurrent), slow: newTeamSlots(maxSlowConcurrent), hosts: map[string]*teamSlots{}}
}

// free returns how many attempts more may begin.
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

// take takes places for attempts; a negative n returns them.
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
