package db

import (
	"cmp"
	"context"
	"slices"

	"mailer/app"
)

// previewed is the condition on the contacts of an audience without segment: those that
// its filter picks and, with a topic, that mail about it reaches.
func previewed(a *app.Audience, dialect filterDialect) (condition, error) {
	out, err := where(a.Filter, dialect)
	if err != nil || a.TopicID == "" {
		return out, err
	}
	args := append(slices.Clone(out.args), a.TopicID, string(cmp.Or(a.Default, app.OptIn)))
	return condition{`(` + out.text + audienceReachable + `)`, args}, nil
}

// CountPreview counts the contacts that the filter of an audience picks and, with a
// topic, that mail about it reaches. Errors: ErrLong, with what was counted until then,
// and that of ctx.
func (r *Reader) CountPreview(ctx context.Context, e Effort, a *app.Audience) (int, error) {
	if a.TopicID == "" && len(a.Filter.Conditions) == 0 {
		return r.ContactCount(a.TeamID)
	}
	c, err := previewed(a, r.filterDialect())
	if err != nil {
		return 0, err
	}
	return r.countPicked(ctx, e, a.TeamID, c)
}

// SamplePreview returns the newest contacts of those that CountPreview counts, at most
// limit. Errors: ErrLong, with what was found until then, and that of ctx.
func (r *Reader) SamplePreview(ctx context.Context, e Effort, a *app.Audience, limit int) ([]app.Contact, error) {
	c, err := previewed(a, r.filterDialect())
	if err != nil {
		return nil, err
	}
	return r.pickedContacts(ctx, e, a.TeamID, c, app.Page{}, limit)
}
