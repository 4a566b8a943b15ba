package webhooks

const (
	// maxHooks bounds the attempts that are under way at once.
	maxHooks = 128
	// maxSlowHooks bounds those to endpoints whose last attempt failed or took
	// slowHook or longer: dead ones always leave room for others.
	maxSlowHooks = maxHooks / 2
	// hostShare bounds those to one host, whoever's endpoints are there, and hookShare
	// those to one endpoint.
	hostShare = 16
	hookShare = 8
)

// pool is a number of places for attempts that teams share. Of what is left a team
// can have no more than it holds, so that one team alone has half of the pool, two
// have a third each, and there is always a place for the next team: an attempt can
// hold its place for ten seconds, and is not ended for the sake of another.
type pool struct {
	size  int
	used  int
	teams map[string]int // by their ids; those that hold none are not in it
}

func newPool(size int) *pool { return &pool{size: size, teams: map[string]int{}} }

// room returns how many places more a team may take.
func (p *pool) room(team string) int {
	return max(0, (p.size-p.used-p.teams[team]+1)/2)
}

// take takes places for a team; a negative n returns them.
func (p *pool) take(team string, n int) {
	p.used += n
	p.teams[team] += n
	if p.teams[team] == 0 {
		delete(p.teams, team)
	}
}

// seat is whose an attempt is and where it goes.
type seat struct {
	team, host string
	slow       bool // to an endpoint whose last attempt failed or took long
}

// places are all attempts that are under way, or about to begin. An attempt has one
// of all places, one at its host, and, where it may take long, one of those for slow
// ones.
type places struct {
	all, slow *pool
	hosts     map[string]*pool // those at which there are attempts
}

func newPlaces() *places {
	return &places{all: newPool(maxHooks), slow: newPool(maxSlowHooks), hosts: map[string]*pool{}}
}

// room returns how many attempts more may begin.
func (p *places) room(s seat) int {
	n := p.all.room(s.team)
	if s.slow {
		n = min(n, p.slow.room(s.team))
	}
	if host := p.hosts[s.host]; host != nil {
		return min(n, host.room(s.team))
	}
	return min(n, newPool(hostShare).room(s.team))
}

// take takes places for attempts; a negative n returns them.
func (p *places) take(s seat, n int) {
	p.all.take(s.team, n)
	if s.slow {
		p.slow.take(s.team, n)
	}
	host := p.hosts[s.host]
	if host == nil {
		host = newPool(hostShare)
		p.hosts[s.host] = host
	}
	if host.take(s.team, n); host.used == 0 {
		delete(p.hosts, s.host)
	}
}
