package db

import (
	"cmp"
	"context"
	"slices"

	"mailer/app"
)

// previewed returns the condition on the contacts of an audience without segment: its
// filter and, with a topic, a subscription to the topic.
func previewed(a *app.Audience, dialect filterDialect) (condition, error) {
	out, err := where(a.Filter, dialect)
	if err != nil || a.TopicID == "" {
		return out, err
	}
	args := append(slices.Clone(out.args), a.TopicID, string(cmp.Or(a.Default, app.OptIn)))
	return condition{`(` + out.text + audienceReachable + `)`, args}, nil
}

// CountPreview counts the contacts that match the filter of an audience and, with a topic,
// get mail about the topic. Errors: ErrLong, with the count so far; ctx.Err().
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

// SamplePreview returns at most limit of the contacts that CountPreview counts, newest
// first. Errors: ErrLong, with the contacts so far; ctx.Err().
func (r *Reader) SamplePreview(ctx context.Context, e Effort, a *app.Audience, limit int) ([]app.Contact, error) {
	c, err := previewed(a, r.filterDialect())
	if err != nil {
		return nil, err
	}
	return r.pickedContacts(ctx, e, a.TeamID, c, app.Page{}, limit)
}
