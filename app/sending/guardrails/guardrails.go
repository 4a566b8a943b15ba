// Package guardrails holds back teams and regions whose mail bounces, or is complained of, too
// often: it judges them by the counters in the database, tells their webhooks, and answers
// whether they may send. delivery counts what becomes of mail and may import it.
//
// Failure policy: a state that can't be judged stays as it was and is judged again; a team's
// stands in the database, so that a restart tells nobody again.
package guardrails

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Every is how often states are looked at: a crossed line takes effect within
// 10 s.
const Every = 5 * time.Second

// Service knows the states of teams and regions.
type Service struct {
	*base.Base
	Config
	events *webhooks.Service
	teams  *teams.Service
	states atomic.Pointer[states] // nil: no server runs in this process

	mu      sync.Mutex
	touched map[string]bool // teams that something was counted of since they were judged
	hour    int64           // in which all teams were judged last: windows move with it
	heard   atomic.Bool     // another process wrote: all are judged once more
}

// Config is what the service needs of those above it.
type Config struct {
	Regions func() []string // those of the relays of this process
	Changed func()          // broadcasts may go on that rested, or rest
}

// New makes the service.
func New(base *base.Base, told *webhooks.Service, owners *teams.Service, cfg Config) *Service {
	return &Service{Base: base, Config: cfg, events: told, teams: owners}
}

// states never change; a new one takes their place.
type states struct {
	teams   map[string]reputation.Guardrail // absent: ok
	regions map[string]bool                 // those whose broadcasts rest
}

// Touch has a team judged soon, of which something was counted.
func (s *Service) Touch(teamID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.touched == nil {
		s.touched = map[string]bool{}
	}
	s.touched[teamID] = true
}

// PeerWrote has all teams judged soon, since another process wrote.
func (s *Service) PeerWrote() { s.heard.Store(true) }

// change puts other states in the place of those that are known.
func (s *Service) change(fn func(next *states)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := states{teams: map[string]reputation.Guardrail{}, regions: map[string]bool{}}
	if old := s.states.Load(); old != nil {
		maps.Copy(next.teams, old.teams)
		maps.Copy(next.regions, old.regions)
	}
	fn(&next)
	s.states.Store(&next)
}

// Team is the state of a team as this process knows it.
func (s *Service) Team(teamID string) reputation.Guardrail {
	if now := s.states.Load(); now != nil && now.teams[teamID] != "" {
		return now.teams[teamID]
	}
	return reputation.GuardrailOK
}

// region reports whether broadcasts of a region rest.
func (s *Service) region(name string) bool {
	now := s.states.Load()
	return now != nil && now.regions[name]
}

// Start reads the states that an earlier process left and judges anew.
func (s *Service) Start(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Guardrails)
	if err != nil {
		return fmt.Errorf("read the states of teams: %w", err)
	}
	s.change(func(next *states) { next.teams = teams })
	return s.IgnoreFull(s.Judge(ctx))
}

// Follow has this server know how the one that leads judged teams, and judge regions as that one
// does.
func (s *Service) Follow(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Guardrails)
	if err != nil {
		return fmt.Errorf("read the states of teams: %w", err)
	}
	s.mu.Lock()
	s.touched = nil
	s.mu.Unlock()
	s.change(func(next *states) { next.teams = teams })
	for _, region := range s.Regions() {
		if err := s.judgeRegion(ctx, region); err != nil {
			return fmt.Errorf("judge region %s: %w", region, err)
		}
	}
	return nil
}

// Judge looks at the rates of teams that sent since the last time or are not ok, once
// an hour at those of all, and at those of the regions.
func (s *Service) Judge(ctx context.Context) error {
	teams, err := s.teamsToJudge(ctx)
	if err != nil || len(teams) == 0 { // neither counters nor windows moved: regions are as they were
		return err
	}
	var failed []error
	for _, id := range teams {
		if err := s.judgeTeam(ctx, id); err != nil {
			s.Touch(id)
			failed = append(failed, fmt.Errorf("judge team %s: %w", id, err))
		}
	}
	for _, region := range s.Regions() {
		if err := s.judgeRegion(ctx, region); err != nil {
			failed = append(failed, fmt.Errorf("judge region %s: %w", region, err))
		}
	}
	return errors.Join(failed...)
}

func (s *Service) teamsToJudge(ctx context.Context) ([]string, error) {
	hour := reputation.OutcomeHour(clock.Now())
	var all []app.Team
	if s.heard.Swap(false) || hour != s.hour { // which only this goroutine changes
		var err error
		if all, err = s.teams.ListTeams(ctx); err != nil {
			return nil, err
		}
		s.hour = hour
	}
	s.mu.Lock()
	due := s.touched
	s.touched = nil
	s.mu.Unlock()
	if due == nil {
		due = map[string]bool{}
	}
	for id := range s.states.Load().teams {
		due[id] = true
	}
	for _, t := range all {
		due[t.ID] = true
	}
	return slices.Sorted(maps.Keys(due)), nil
}

// teamRates reads what a team is judged by.
func teamRates(r *db.Reader, teamID string, now time.Time) (week, lately reputation.Outcome, err error) {
	week, err = r.TeamOutcome(teamID, reputation.OutcomesOver(reputation.GuardrailWeek, now))
	if err != nil {
		return week, lately, fmt.Errorf("read outcomes: %w", err)
	}
	lately, err = r.TeamOutcome(teamID, reputation.OutcomesSinceYesterday(now))
	return week, lately, err
}

func (s *Service) judgeTeam(ctx context.Context, teamID string) error {
	var week, lately reputation.Outcome
	now := clock.Now()
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		week, lately, err = teamRates(r, teamID, now)
		return err
	})
	before := s.Team(teamID)
	judged := reputation.JudgeTeam(before, week, lately)
	state := judged.State
	if err != nil || state == before {
		return err
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if err := tx.SetGuardrail(teamID, state); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.change(func(next *states) {
				delete(next.teams, teamID)
				if state != reputation.GuardrailOK {
					next.teams[teamID] = state
				}
			})
		})
		return s.announce(tx, teamID, before, judged)
	})
	if err != nil {
		return err
	}
	s.Log.Warn("the rates of a team changed its state", "team", teamID, "from", before, "to", state, "window", judged.Window, "rates", judged.Rates.Description(), "enforced", s.Settings.Rules().Enforce)
	s.Changed()
	return nil
}

// announce tells of a line that was crossed.
func (s *Service) announce(tx *db.Tx, teamID string, before reputation.Guardrail, j reputation.Judgement) error {
	if !j.State.Worse(before) {
		return nil
	}
	name := webhook.DeliverabilityWarning
	if j.State == reputation.GuardrailPaused {
		name = webhook.DeliverabilityPaused
	}
	return s.events.Announce(tx, teamID, name, func() (any, error) {
		return j.Data(teamID, s.Settings.Rules().Enforce), nil
	})
}

func (s *Service) judgeRegion(ctx context.Context, region string) error {
	var day, week reputation.RegionOutcome
	var paused bool
	now := clock.Now()
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		day, week, paused, err = regionState(r, region, now)
		return err
	})
	if err != nil || paused == s.region(region) {
		return err
	}
	s.change(func(next *states) { next.regions[region] = paused })
	s.Log.Warn("the rates of a region changed its state", "region", region, "broadcasts_paused", paused,
		"day", day.Description(), "week", week.Description(), "enforced", s.Settings.Rules().Enforce)
	s.Changed()
	return nil
}

// regionState judges a region. Its teams are looked at only where the rates of all of
// them together cross a line, which is seldom: the sums are cheap, the teams may be many.
func regionState(r *db.Reader, region string, now time.Time) (day, week reputation.RegionOutcome, paused bool, err error) {
	sums := []*reputation.RegionOutcome{&day, &week}
	from := []int64{reputation.OutcomesOver(reputation.GuardrailDay, now), reputation.OutcomesOver(reputation.GuardrailWeek, now)}
	for i, sum := range sums {
		if sum.Outcome, err = r.RegionOutcome(region, from[i]); err != nil {
			return day, week, false, err
		}
	}
	if !reputation.JudgeRegion(day, week) {
		return day, week, false, nil
	}
	for i, sum := range sums {
		if sum.WorstBounced, sum.WorstComplained, err = r.WorstOfRegion(region, from[i]); err != nil {
			return day, week, false, err
		}
	}
	return day, week, reputation.JudgeRegion(day, week), nil
}

// MayAccept refuses what a paused team sends. A command beside the server asks the
// database. Errors: CodeSendingPaused.
func (s *Service) MayAccept(r *db.Reader, teamID string) error {
	if err := teams.MaySend(r, teamID); err != nil {
		return err
	}
	if !s.Settings.Rules().Enforce {
		return nil
	}
	state := s.Team(teamID)
	if s.states.Load() == nil {
		var err error
		if state, err = r.Guardrail(teamID); err != nil {
			return fmt.Errorf("read the state of the team: %w", err)
		}
	}
	if state != reputation.GuardrailPaused {
		return nil
	}
	return app.Errorf(app.CodeSendingPaused, "Sending is paused: too many recipients of the last days bounced or complained. It resumes automatically once the rates fall; GET /deliverability shows the rates")
}

// MayBroadcast refuses broadcasts of a paused team, or in a region that recovers.
// Errors: CodeSendingPaused, CodeBroadcastsPaused.
func (s *Service) MayBroadcast(r *db.Reader, teamID, region string) error {
	if err := s.MayAccept(r, teamID); err != nil {
		return err
	}
	if !s.Settings.Rules().Enforce || !s.region(region) {
		return nil
	}
	return app.Errorf(app.CodeBroadcastsPaused, "Broadcasts of the region %s are paused while its bounce and complaint rates recover. Other mail is sent as usual, and the pause ends automatically", region)
}

// BroadcastsPaused reports whether nothing of a team's broadcasts is begun in a region now.
func (s *Service) BroadcastsPaused(teamID, region string) bool {
	return s.Settings.Rules().Enforce && (s.region(region) || s.Team(teamID) == reputation.GuardrailPaused)
}

// Drips reports whether broadcasts of a team leave one a second.
func (s *Service) Drips(teamID string) bool {
	return s.Settings.Rules().Enforce && s.Team(teamID) == reputation.GuardrailWarning
}

// Deliverability returns how well the mail of the key's team fared in the last 30 days,
// and how the team stands to the guardrails at this moment.
func (s *Service) Deliverability(ctx context.Context, key *app.Key) (d reputation.Deliverability, err error) {
	now := clock.Now()
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		month, err := r.TeamOutcome(key.TeamID, reputation.OutcomesOver(reputation.DeliverabilityWindow, now))
		if err != nil {
			return fmt.Errorf("read outcomes: %w", err)
		}
		week, lately, err := teamRates(r, key.TeamID, now)
		d = reputation.NewDeliverability(month, reputation.JudgeTeam(s.Team(key.TeamID), week, lately).State)
		return err
	})
	return d, base.Unavailable(err)
}
