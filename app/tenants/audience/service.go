// Package audience is the people whom teams write to: contacts with their
// properties, segments and topics, imports of them, who is suppressed or opted
// out, and the hosted pages on which they say so. mail and all above it may
// import it.
//
// Failure policy: an opt-out or a suppression that was answered holds for every
// message whose final dot was not sent yet; an import goes on after a crash where
// its last transaction ended.
package audience

import (
	"context"
	"sync"
	"time"

	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/window"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Service is contacts, segments and who gets no mail.
type Service struct {
	*base.Base
	events *webhooks.Service
	teams  *teams.Service
	scans  *base.TeamSemaphore                // the connections of long scans
	counts *cache.Cache[string, segmentCount] // by segment id
	// RunErasure carries out an erasure that was begun: when it returns, nothing
	// goes out to its addresses any more but what was leaving. Set before use.
	RunErasure    func(ctx context.Context, teamID string, job Erasure) error
	erasuresBegun teamCounter // by team, of this process

	Imports      *Imports
	Previews     *Previews
	Pages        *Pages
	Topics       *Topics
	Properties   *Properties
	Suppressions *Suppressions
}

// teamCounter counts something by team.
type teamCounter struct {
	mu sync.Mutex
	n  map[string]uint64
}

// increment counts one more of a team.
func (t *teamCounter) increment(teamID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]uint64{}
	}
	t.n[teamID]++
}

// get returns how many a team has.
func (t *teamCounter) get(teamID string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[teamID]
}

// Imports is files of contacts on their way into the audience.
type Imports struct {
	*Service
	imports importer
}

// Pages is the hosted pages of unsubscribe and preferences links.
type Pages struct {
	service *Service
	optIns  *window.Keyed // by address and by client
}

// Topics is what contacts can subscribe to.
type Topics struct{ service *Service }

// Properties is what contacts can have beside their names.
type Properties struct{ service *Service }

// Suppressions is the addresses that get no mail of a team.
type Suppressions struct{ service *Service }

// New makes the service.
func New(b *base.Base, events *webhooks.Service, teamService *teams.Service) *Service {
	s := &Service{Base: b, events: events, teams: teamService, scans: base.NewTeamSemaphore(maxScans, maxWaitingScans),
		counts: cache.New[string, segmentCount](maxCounts, 0)}
	s.Imports, s.Previews = &Imports{Service: s, imports: newImporter()}, &Previews{s}
	s.Pages, s.Topics, s.Properties, s.Suppressions = &Pages{s, window.NewKeyed(time.Minute)}, &Topics{s}, &Properties{s}, &Suppressions{s}
	return s
}

// Start has imports go on.
func (s *Service) Start(ctx context.Context) error { return s.Imports.startImports(ctx) }
