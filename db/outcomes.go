package db

import "mailer/app/rules/reputation"

// TeamOutcome returns the sum of a team's outcomes since an hour.
func (r *Reader) TeamOutcome(teamID string, from int64) (o reputation.Outcome, err error) {
	err = r.Row(`SELECT coalesce(sum(rated), 0), coalesce(sum(rated_bounced), 0), coalesce(sum(rated_complained), 0), coalesce(sum(scored), 0),
		coalesce(sum(points), 0) FROM mail_counts WHERE team_id = ? AND hour >= ?`, []any{teamID, from},
		&o.Sent, &o.HardBounced, &o.Complained, &o.Scored, &o.Points)
	return o, err
}

// RegionOutcome returns the sum of a region's outcomes since an hour, without scores.
func (r *Reader) RegionOutcome(region string, from int64) (o reputation.Outcome, err error) {
	err = r.Row(`SELECT coalesce(sum(rated), 0), coalesce(sum(rated_bounced), 0), coalesce(sum(rated_complained), 0)
		FROM mail_counts WHERE team_id = '' AND hour >= ? AND region = ?`, []any{from, region}, &o.Sent, &o.HardBounced, &o.Complained)
	return o, err
}

// WorstOfRegion returns the highest hard bounces and the highest complaints of any one
// team in a region since an hour.
func (r *Reader) WorstOfRegion(region string, from int64) (hardBounced, complained int64, err error) {
	err = r.Row(`SELECT coalesce(max(bounced), 0), coalesce(max(complained), 0) FROM
		(SELECT sum(rated_bounced) AS bounced, sum(rated_complained) AS complained FROM mail_counts
			WHERE region = ? AND hour >= ? AND (rated_bounced > 0 OR rated_complained > 0) AND team_id <> '' GROUP BY team_id) AS t`, []any{region, from}, &hardBounced, &complained)
	return hardBounced, complained, err
}

// TeamUse is the number of recipients of a team through a region in one hour.
type TeamUse struct {
	TeamID string
	Hour   int64 // Unix hours
	Sent   int64
}

// RegionUse returns the use of a region by team since an hour. It reads the counters of all
// teams since then.
func (r *Reader) RegionUse(region string, hour int64) ([]TeamUse, error) {
	return list(r, func(s scanner) (TeamUse, error) {
		var u TeamUse
		err := s.Scan(&u.TeamID, &u.Hour, &u.Sent)
		return u, err
	}, `SELECT t.id, c.hour, sum(c.rated) FROM teams AS t CROSS JOIN mail_counts AS c
		ON c.team_id = t.id AND c.region = ? AND c.hour >= ? GROUP BY t.id, c.hour`, region, hour)
}
