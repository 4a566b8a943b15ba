// Package audience implements the recipients of teams: contacts with properties, segments and
// topics, imports, suppressions and opt-outs, and the hosted pages on which recipients opt out.
// mail and all packages above it may import it.
//
// Failure policy: an opt-out or suppression that was answered with success holds for every message
// whose final dot was not sent yet. After a crash an import continues after its last transaction.
package audience

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/window"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
	"mailer/db/engine"
)

// Service implements contacts, segments and suppression checks.
type Service struct {
	*base.Base
	events *webhooks.Service
	teams  *teams.Service
	scans  *base.TeamSemaphore                // connections of long scans
	counts *cache.Cache[string, segmentCount] // by segment id
	// RunErasure processes an erasure that was begun. When it returns, no mail to its addresses
	// leaves, except mail past its final dot. Set before use.
	RunErasure    func(ctx context.Context, teamID string, job Erasure) error
	erasuresBegun teamCounter // by team, of this process
	// OnSignal stores an event of a contact for automations, inside the Write of what happened; nil: there are no
	// automations. Set before use, as the next one.
	OnSignal func(tx *db.Tx, signal app.Signal) error
	// WatchedSegments returns the segments with a filter for which automations of a team listen; nil: none.
	WatchedSegments func(r *db.Reader, teamID string) ([]WatchedSegment, error)
	// OnFilterChange is called inside the Write that changed the filter of a segment; nil: not.
	OnFilterChange func(tx *db.Tx, teamID, segmentID string) error

	Imports      *Imports
	Previews     *Previews
	Pages        *Pages
	Topics       *Topics
	Properties   *Properties
	Suppressions *Suppressions
}

// teamCounter counts by team.
type teamCounter struct {
	mu sync.Mutex
	n  map[string]uint64
}

// increment adds one to the count of a team.
func (t *teamCounter) increment(teamID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]uint64{}
	}
	t.n[teamID]++
}

// get returns the count of a team.
func (t *teamCounter) get(teamID string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[teamID]
}

// Imports implements imports of contact files.
type Imports struct {
	*Service
	imports importer
}

// Pages implements the hosted pages of unsubscribe and preferences links.
type Pages struct {
	service *Service
	optIns  *window.Keyed // by address and by client
	// noneHeldAt is the version of the database at which no choice was held; nil: not looked yet.
	noneHeldAt atomic.Pointer[engine.Version]
}

// Topics implements the topics that contacts can subscribe to.
type Topics struct{ service *Service }

// Properties implements the properties that contacts can have.
type Properties struct{ service *Service }

// Suppressions implements the addresses that get no mail of a team.
type Suppressions struct{ service *Service }

// New makes the service.
func New(b *base.Base, events *webhooks.Service, teamService *teams.Service) *Service {
	s := &Service{Base: b, events: events, teams: teamService, scans: base.NewTeamSemaphore(maxScans, maxWaitingScans),
		counts: cache.New[string, segmentCount](maxCounts, 0)}
	s.Imports, s.Previews = &Imports{Service: s, imports: newImporter()}, &Previews{s}
	s.Pages, s.Topics, s.Properties, s.Suppressions = &Pages{service: s, optIns: window.NewKeyed(time.Minute)}, &Topics{s}, &Properties{s}, &Suppressions{s}
	return s
}

// Start starts the importer.
func (s *Service) Start(ctx context.Context) error { return s.Imports.startImports(ctx) }
