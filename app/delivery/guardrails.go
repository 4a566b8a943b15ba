package delivery

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
	"mailer/app/clock"
	"mailer/app/reputation"
	"mailer/app/teams"
	"mailer/app/webhook"
	"mailer/db"
)

// RatesEvery is how often states are looked at: a crossed line takes effect within
// 10 s.
const RatesEvery = 5 * time.Second

// guards know the states of teams and regions. They follow from the counters in the
// database; a team's stands there too, so that a restart tells nobody again.
type guards struct {
	states atomic.Pointer[guardStates] // nil: no server runs in this process

	mu      sync.Mutex
	touched map[string]bool // teams that something was counted of since they were judged
	hour    int64           // in which all teams were judged last: windows move with it
	heard   atomic.Bool     // another process wrote: all are judged once more
}

// guardStates never change; a new one takes their place.
type guardStates struct {
	teams   map[string]reputation.Guardrail // absent: ok
	regions map[string]bool                 // those whose broadcasts rest
}

// touch has a team judged soon.
func (g *guards) touch(teamID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.touched == nil {
		g.touched = map[string]bool{}
	}
	g.touched[teamID] = true
}

// change puts other states in the place of those that are known.
func (g *guards) change(fn func(s *guardStates)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := guardStates{teams: map[string]reputation.Guardrail{}, regions: map[string]bool{}}
	if old := g.states.Load(); old != nil {
		maps.Copy(s.teams, old.teams)
		maps.Copy(s.regions, old.regions)
	}
	fn(&s)
	g.states.Store(&s)
}

// team is the state of a team as this process knows it.
func (g *guards) team(teamID string) reputation.Guardrail {
	if s := g.states.Load(); s != nil && s.teams[teamID] != "" {
		return s.teams[teamID]
	}
	return reputation.GuardrailOK
}

// region reports whether broadcasts of a region rest.
func (g *guards) region(name string) bool {
	s := g.states.Load()
	return s != nil && s.regions[name]
}

// startGuards reads the states that an earlier process left and judges anew.
func (s *Service) startGuards(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Guardrails)
	if err != nil {
		return fmt.Errorf("read the states of teams: %w", err)
	}
	s.guards.change(func(guardStates *guardStates) { guardStates.teams = teams })
	return s.UnlessFull(s.Judge(ctx))
}

// FollowGuards has this server know how the one that leads judged teams, and judge regions as
// that one does.
func (s *Service) FollowGuards(ctx context.Context) error {
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Guardrails)
	if err != nil {
		return fmt.Errorf("read the states of teams: %w", err)
	}
	s.guards.mu.Lock()
	s.guards.touched = nil
	s.guards.mu.Unlock()
	s.guards.change(func(guardStates *guardStates) { guardStates.teams = teams })
	for _, l := range s.Outlets.all() {
		if err := s.judgeRegion(ctx, l.name); err != nil {
			return fmt.Errorf("judge region %s: %w", l.name, err)
		}
	}
	return nil
}

// Judge looks at the rates of teams that sent since the last time or are not ok, once
// an hour at those of all, and at those of the regions.
func (s *Service) Judge(ctx context.Context) error {
	teams, err := s.toJudge(ctx)
	if err != nil || len(teams) == 0 { // neither counters nor windows moved: regions are as they were
		return err
	}
	var failed []error
	for _, id := range teams {
		if err := s.judgeTeam(ctx, id); err != nil {
			s.guards.touch(id)
			failed = append(failed, fmt.Errorf("judge team %s: %w", id, err))
		}
	}
	for _, l := range s.Outlets.all() {
		if err := s.judgeRegion(ctx, l.name); err != nil {
			failed = append(failed, fmt.Errorf("judge region %s: %w", l.name, err))
		}
	}
	return errors.Join(failed...)
}

func (s *Service) toJudge(ctx context.Context) ([]string, error) {
	g, hour := &s.guards, reputation.OutcomeHour(clock.Now())
	var all []app.Team
	if g.heard.Swap(false) || hour != g.hour { // which only this goroutine changes
		var err error
		if all, err = s.teams.ListTeams(ctx); err != nil {
			return nil, err
		}
		g.hour = hour
	}
	g.mu.Lock()
	due := g.touched
	g.touched = nil
	g.mu.Unlock()
	if due == nil {
		due = map[string]bool{}
	}
	for id := range g.states.Load().teams {
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
	before := s.guards.team(teamID)
	judged := reputation.JudgeTeam(before, week, lately)
	state := judged.State
	if err != nil || state == before {
		return err
	}
	err = s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		if err := tx.SetGuardrail(teamID, state); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.guards.change(func(guardStates *guardStates) {
				delete(guardStates.teams, teamID)
				if state != reputation.GuardrailOK {
					guardStates.teams[teamID] = state
				}
			})
		})
		return s.announceGuardrail(tx, teamID, before, judged)
	})
	if err != nil {
		return err
	}
	s.Log.Warn("the rates of a team changed its state", "team", teamID, "from", before, "to", state, "window", judged.Window, "rates", judged.Rates.Words(), "enforced", s.Settings.Enforce)
	s.wakeBulk()
	return nil
}

// announceGuardrail tells of a line that was crossed.
func (s *Service) announceGuardrail(tx *db.Tx, teamID string, before reputation.Guardrail, j reputation.Judgement) error {
	if !j.State.Worse(before) {
		return nil
	}
	name := webhook.DeliverabilityWarning
	if j.State == reputation.GuardrailPaused {
		name = webhook.DeliverabilityPaused
	}
	return s.events.Announce(tx, teamID, name, func() (any, error) {
		return reputation.GuardrailData{TeamID: teamID, Status: j.State, Window: j.Window, EmailsSent: j.Rates.Sent, HardBounced: j.Rates.HardBounced,
			Complained: j.Rates.Complained, HardBounceRate: j.Rates.HardBounceRate(), ComplaintRate: j.Rates.ComplaintRate(), Enforced: s.Settings.Enforce}, nil
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
	if err != nil || paused == s.guards.region(region) {
		return err
	}
	s.guards.change(func(guardStates *guardStates) { guardStates.regions[region] = paused })
	s.Log.Warn("the rates of a region changed its state", "region", region, "broadcasts_paused", paused,
		"day", day.Words(), "week", week.Words(), "enforced", s.Settings.Enforce)
	s.wakeBulk()
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

// wakeBulk has broadcasts go on that rested.
func (s *Service) wakeBulk() {
	for _, l := range s.Outlets.all() {
		l.bulk.woken.Ring()
	}
}

// MayAccept implements mail.Outlet. A command beside the server asks the
// database. Errors: CodeSendingPaused.
func (s *Service) MayAccept(r *db.Reader, teamID string) error {
	if err := teams.MaySend(r, teamID); err != nil {
		return err
	}
	if !s.Settings.Enforce {
		return nil
	}
	state := s.guards.team(teamID)
	if s.guards.states.Load() == nil {
		var err error
		if state, err = r.Guardrail(teamID); err != nil {
			return fmt.Errorf("read the state of the team: %w", err)
		}
	}
	if state != reputation.GuardrailPaused {
		return nil
	}
	return app.Errorf(app.CodeSendingPaused, "Sending is paused: too many recipients of the last days bounced or complained. It goes on by itself once fewer of them are recent; GET /deliverability has the rates")
}

// MayBroadcast refuses broadcasts of a paused team, or in a region that recovers.
// Errors: CodeSendingPaused, CodeBroadcastsPaused.
func (s *Service) MayBroadcast(r *db.Reader, teamID, region string) error {
	if err := s.MayAccept(r, teamID); err != nil {
		return err
	}
	if !s.Settings.Enforce || !s.guards.region(region) {
		return nil
	}
	return app.Errorf(app.CodeBroadcastsPaused, "Broadcasts of the region %s are paused while its bounce and complaint rates recover. Other mail leaves as ever, and the pause ends by itself", region)
}

// rests reports whether nothing of a team's broadcasts is begun in a region now.
func (s *Service) rests(teamID, region string) bool {
	return s.Settings.Enforce && (s.guards.region(region) || s.guards.team(teamID) == reputation.GuardrailPaused)
}

// drips reports whether broadcasts of a team leave one a second.
func (s *Service) drips(teamID string) bool {
	return s.Settings.Enforce && s.guards.team(teamID) == reputation.GuardrailWarning
}
