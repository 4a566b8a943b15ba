package db

import (
	"fmt"

	"mailer/app/rules/reputation"
)

// CountOutcome adds to the counters of a team and its region in the hour of this
// transaction. The closures of one commit share a statement for each counter, so counting
// a message costs a look-up in memory.
func (tx *Tx) CountOutcome(key reputation.OutcomeKey, o reputation.Outcome) {
	if tx.increments.outcomes == nil {
		tx.increments.outcomes = map[reputation.OutcomeKey]reputation.Outcome{}
	}
	sum := tx.increments.outcomes[key]
	sum.Add(o)
	tx.increments.outcomes[key] = sum
}

func (tx *Tx) storeOutcomes(group []*increments) error {
	teams, regions := map[reputation.OutcomeKey]reputation.Outcome{}, map[string]reputation.Outcome{}
	for _, added := range group {
		for key, o := range added.outcomes {
			team, region := teams[key], regions[key.Region]
			team.Add(o)
			region.Add(o)
			teams[key], regions[key.Region] = team, region
		}
	}
	hour := reputation.OutcomeHour(tx.Now)
	for key, o := range teams {
		err := tx.Write(`INSERT INTO outcomes (team_id, hour, region, domain, sent, hard_bounced, complained, scored, points)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, hour, region, domain) DO UPDATE SET sent = outcomes.sent + excluded.sent,
			hard_bounced = outcomes.hard_bounced + excluded.hard_bounced, complained = outcomes.complained + excluded.complained,
			scored = outcomes.scored + excluded.scored, points = outcomes.points + excluded.points`,
			key.TeamID, hour, key.Region, key.Domain, o.Sent, o.HardBounced, o.Complained, o.Scored, o.Points)
		if err != nil {
			return fmt.Errorf("count outcomes: %w", err)
		}
	}
	for region, o := range regions {
		err := tx.Write(`INSERT INTO region_outcomes (region, hour, sent, hard_bounced, complained) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (region, hour) DO UPDATE SET sent = region_outcomes.sent + excluded.sent, hard_bounced = region_outcomes.hard_bounced + excluded.hard_bounced,
			complained = region_outcomes.complained + excluded.complained`, region, hour, o.Sent, o.HardBounced, o.Complained)
		if err != nil {
			return fmt.Errorf("count outcomes of a region: %w", err)
		}
	}
	return nil
}

// TeamOutcome returns the sum of a team's outcomes since an hour.
func (r *Reader) TeamOutcome(teamID string, from int64) (o reputation.Outcome, err error) {
	err = r.Row(`SELECT coalesce(sum(sent), 0), coalesce(sum(hard_bounced), 0), coalesce(sum(complained), 0), coalesce(sum(scored), 0),
		coalesce(sum(points), 0) FROM outcomes WHERE team_id = ? AND hour >= ?`, []any{teamID, from},
		&o.Sent, &o.HardBounced, &o.Complained, &o.Scored, &o.Points)
	return o, err
}

// RegionOutcome returns the sum of a region's outcomes since an hour, without scores.
func (r *Reader) RegionOutcome(region string, from int64) (o reputation.Outcome, err error) {
	err = r.Row(`SELECT coalesce(sum(sent), 0), coalesce(sum(hard_bounced), 0), coalesce(sum(complained), 0)
		FROM region_outcomes WHERE region = ? AND hour >= ?`, []any{region, from}, &o.Sent, &o.HardBounced, &o.Complained)
	return o, err
}

// WorstOfRegion returns the highest hard bounces and the highest complaints of any one
// team in a region since an hour.
func (r *Reader) WorstOfRegion(region string, from int64) (hardBounced, complained int64, err error) {
	err = r.Row(`SELECT coalesce(max(hard_bounced), 0), coalesce(max(complained), 0) FROM
		(SELECT sum(hard_bounced) AS hard_bounced, sum(complained) AS complained FROM outcomes
			WHERE region = ? AND hour >= ? AND hard_bounced + complained > 0 GROUP BY team_id) AS t`, []any{region, from}, &hardBounced, &complained)
	return hardBounced, complained, err
}

// PurgeOutcomes deletes a team's counters before an hour.
func (tx *Tx) PurgeOutcomes(teamID string, before int64) error {
	err := tx.Write(`DELETE FROM outcomes WHERE team_id = ? AND hour < ?`, teamID, before)
	return err
}

// PurgeRegionOutcomes deletes the counters of all regions before an hour.
func (tx *Tx) PurgeRegionOutcomes(before int64) error {
	err := tx.Write(`DELETE FROM region_outcomes WHERE hour < ?`, before)
	return err
}

// TeamUse is the number of recipients of a team through a region in one hour.
type TeamUse struct {
	TeamID string
	Hour   int64 // Unix hours
	Sent   int64
}

// RegionUse returns the use of a region by team since an hour. It reads the counters of a
// month and is called at start only.
func (r *Reader) RegionUse(region string, hour int64) ([]TeamUse, error) {
	return list(r, func(s scanner) (TeamUse, error) {
		var u TeamUse
		err := s.Scan(&u.TeamID, &u.Hour, &u.Sent)
		return u, err
	}, `SELECT team_id, hour, sum(sent) FROM outcomes WHERE region = ? AND hour >= ? GROUP BY team_id, hour`, region, hour)
}
