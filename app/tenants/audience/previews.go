package audience

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Previews is what people see of the audience while they decide: who a filter would
// pick, whom a search finds, and all that one contact got. What would take long it
// answers in part, and says so.
type Previews struct{ service *Service }

const (
	// previewTimeout is how long a request may look at contacts, and before that wait for its
	// turn, before it answers what it has.
	previewTimeout = 300 * time.Millisecond
	// previewSample is how many contacts a preview shows.
	previewSample = 10
)

// SegmentPreview is what a filter would pick.
type SegmentPreview struct {
	Count  int
	Exact  bool          // else there are at least as many
	Sample []app.Contact // the newest ones
}

// PreviewSegment returns whom a segment with this filter would hold; with a topic, whom
// mail about it would reach of them. Errors: CodeValidation, CodeNotFound for the topic.
func (s *Previews) PreviewSegment(ctx context.Context, key *app.Key, filter *app.Filter, topicID string) (out SegmentPreview, err error) {
	if filter == nil {
		return out, app.Invalid("filter", "is required")
	}
	if err := filter.Validate(); err != nil {
		return out, err
	}
	a := &app.Audience{TeamID: key.TeamID, Filter: filter, TopicID: topicID}
	err = s.service.DB.Read(ctx, func(r *db.Reader) error {
		if err := checkFilter(r, key.TeamID, filter); err != nil {
			return err
		}
		return readTopicDefault(r, key.TeamID, topicID, &a.Default)
	})
	if err != nil {
		return out, base.Unavailable(err)
	}
	err = s.boundedRead(ctx, key.TeamID, func(r *db.Reader, e db.Effort) (err error) {
		if out.Sample, err = r.SamplePreview(ctx, e, a, previewSample); err != nil && !errors.Is(err, db.ErrLong) {
			return err
		}
		out.Count, err = r.CountPreview(ctx, e, a)
		out.Exact = err == nil
		return err
	})
	return out, base.Unavailable(err)
}

// CountReach counts the contacts of a segment whom a broadcast would reach; with a topic,
// one about it. Errors: CodeNotFound for the segment and the topic.
func (s *Previews) CountReach(ctx context.Context, key *app.Key, segmentID, topicID string) (out SegmentPreview, err error) {
	a := &app.Audience{TeamID: key.TeamID, SegmentID: segmentID, TopicID: topicID}
	err = s.service.DB.Read(ctx, func(r *db.Reader) error {
		segment, err := r.Segment(key.TeamID, segmentID)
		if err != nil {
			return base.Lookup("segment", err)
		}
		a.Filter = segment.Filter
		return readTopicDefault(r, key.TeamID, topicID, &a.Default)
	})
	if err != nil {
		return out, base.Unavailable(err)
	}
	err = s.boundedRead(ctx, key.TeamID, func(r *db.Reader, e db.Effort) (err error) {
		out.Count, err = r.CountAudience(ctx, e, a)
		out.Exact = err == nil
		return err
	})
	return out, base.Unavailable(err)
}

// readTopicDefault reads what those who chose nothing about a topic get of it. Errors:
// CodeNotFound.
func readTopicDefault(r *db.Reader, teamID, topicID string, subscription *app.Subscription) error {
	if topicID == "" {
		return nil
	}
	t, err := r.Topic(teamID, topicID)
	*subscription = t.Default
	return base.Lookup("topic", err)
}

// boundedRead runs a read that may have to look at every contact of a team, and again where
// that turns out to be long and a place among the long scans is free: until its time is
// over. What it found by then is the answer.
func (s *Previews) boundedRead(ctx context.Context, teamID string, fn func(*db.Reader, db.Effort) error) error {
	err := s.service.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{MaxRows: QuickScanRows}) })
	if !errors.Is(err, db.ErrLong) {
		return err
	}
	waitCtx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	if err := s.service.scans.Acquire(waitCtx, teamID, 1); err != nil {
		return ctx.Err()
	}
	defer s.service.scans.Release(1)
	err = s.service.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{Until: time.Now().Add(previewTimeout)}) })
	if errors.Is(err, db.ErrLong) {
		return nil
	}
	return err
}
