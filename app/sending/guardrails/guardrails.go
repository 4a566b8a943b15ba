// Package guardrails pauses teams and regions whose mail bounces or is reported as spam too often.
// It judges them by counters in the database, announces changes to the teams' webhooks, and answers
// whether they may send. The delivery package counts the outcomes.
//
// Failure policy: a state that can't be judged stays and is judged again. Team states are stored,
// so that a restart announces nothing twice.
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

// Every is how often states are judged. A crossed limit takes effect within 10 s.
const Every = 5 * time.Second

// Service judges teams and regions.
type Service struct {
	*base.Base
	Config
	events *webhooks.Service
	teams  *teams.Service
	states atomic.Pointer[states] // nil: this process is not a server

	mu        sync.Mutex
	touched   map[string]bool // teams whose counters changed since they were judged
	hour      int64           // hour in which all teams were judged last, because the windows move hourly
	peerWrote atomic.Bool     // another process wrote: judge all teams
}

// Config connects the service with the relay queues.
type Config struct {
	Regions func() []string // regions of the relays of this process
	Changed func()          // called when broadcasts were paused or resumed
}

// New makes a Service.
func New(base *base.Base, events *webhooks.Service, teamService *teams.Service, cfg Config) *Service {
	return &Service{Base: base, Config: cfg, events: events, teams: teamService}
}

// states is immutable; a change replaces it.
type states struct {
	teams   map[string]reputation.Guardrail // absent: ok
	regions map[string]bool                 // regions whose broadcasts are paused
}

// Touch makes Judge include a team whose counters changed.
func (s *Service) Touch(teamID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.touched == nil {
		s.touched = map[string]bool{}
	}
	s.touched[teamID] = true
}

// PeerWrote makes Judge include all teams, because another process wrote.
func (s *Service) PeerWrote() { s.peerWrote.Store(true) }

// change replaces the states by a changed copy.
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

// Team returns the state of a team as this process knows it.
func (s *Service) Team(teamID string) reputation.Guardrail {
	if now := s.states.Load(); now != nil && now.teams[teamID] != "" {
		return now.teams[teamID]
	}
	return reputation.GuardrailOK
}

// regionPaused reports whether broadcasts of a region are paused.
func (s *Service) regionPaused(name string) bool {
	now := s.states.Load()
	return now != nil && now.regions[name]
}

// Start reads the stored states of teams and judges all states.
func (s *Service) Start(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Guardrails)
	if err != nil {
		return fmt.Errorf("read the states of teams: %w", err)
	}
	s.change(func(next *states) { next.teams = teams })
	return s.IgnoreFull(s.Judge(ctx))
}

// Follow reads the states of teams that the leading server stored, and judges regions as it does.
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

// Judge judges the teams that sent since the last time or are not OK, all teams once an hour, and
// the regions.
func (s *Service) Judge(ctx context.Context) error {
	teams, err := s.teamsToJudge(ctx)
	if err != nil || len(teams) == 0 { // neither counters nor windows changed, so regions did not change
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
	if s.peerWrote.Swap(false) || hour != s.hour { // s.hour is used by this goroutine only
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

// teamRates reads the outcomes that a team is judged by.
func teamRates(r *db.Reader, teamID string, now time.Time) (week, sinceYesterday reputation.Outcome, err error) {
	week, err = r.TeamOutcome(teamID, reputation.OutcomesOver(reputation.GuardrailWeek, now))
	if err != nil {
		return week, sinceYesterday, fmt.Errorf("read outcomes: %w", err)
	}
	sinceYesterday, err = r.TeamOutcome(teamID, reputation.OutcomesSinceYesterday(now))
	return week, sinceYesterday, err
}

func (s *Service) judgeTeam(ctx context.Context, teamID string) error {
	var week, sinceYesterday reputation.Outcome
	now := clock.Now()
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		week, sinceYesterday, err = teamRates(r, teamID, now)
		return err
	})
	before := s.Team(teamID)
	judged := reputation.JudgeTeam(before, week, sinceYesterday)
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

// announce announces that a team's state got worse.
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
	if err != nil || paused == s.regionPaused(region) {
		return err
	}
	s.change(func(next *states) { next.regions[region] = paused })
	s.Log.Warn("the rates of a region changed its state", "region", region, "broadcasts_paused", paused,
		"day", day.Description(), "week", week.Description(), "enforced", s.Settings.Rules().Enforce)
	s.Changed()
	return nil
}

// regionState judges a region. It reads the teams only if the sums of all teams cross a limit,
// which is rare.
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

// MayAccept refuses the mail of a paused team. In a command it reads the state from the database.
// Errors: CodeSendingPaused.
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

// MayBroadcast refuses broadcasts of a paused team or in a paused region. Errors:
// CodeSendingPaused, CodeBroadcastsPaused.
func (s *Service) MayBroadcast(r *db.Reader, teamID, region string) error {
	if err := s.MayAccept(r, teamID); err != nil {
		return err
	}
	if !s.Settings.Rules().Enforce || !s.regionPaused(region) {
		return nil
	}
	return app.Errorf(app.CodeBroadcastsPaused, "Broadcasts of the region %s are paused while its bounce and complaint rates recover. Other mail is sent as usual, and the pause ends automatically", region)
}

// BroadcastsPaused reports whether a team's broadcasts in a region are paused.
func (s *Service) BroadcastsPaused(teamID, region string) bool {
	return s.Settings.Rules().Enforce && (s.regionPaused(region) || s.Team(teamID) == reputation.GuardrailPaused)
}

// Drips reports whether broadcasts of a team are throttled to one message a second.
func (s *Service) Drips(teamID string) bool {
	return s.Settings.Rules().Enforce && s.Team(teamID) == reputation.GuardrailWarning
}

// Deliverability returns the outcomes of the mail of the key's team in the last 30 days and the
// current state of the team.
func (s *Service) Deliverability(ctx context.Context, key *app.Key) (d reputation.Deliverability, err error) {
	now := clock.Now()
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		month, err := r.TeamOutcome(key.TeamID, reputation.OutcomesOver(reputation.DeliverabilityWindow, now))
		if err != nil {
			return fmt.Errorf("read outcomes: %w", err)
		}
		week, sinceYesterday, err := teamRates(r, key.TeamID, now)
		d = reputation.NewDeliverability(month, reputation.JudgeTeam(s.Team(key.TeamID), week, sinceYesterday).State)
		return err
	})
	return d, base.Unavailable(err)
}
