package audience

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Previews implements what users see of the audience while they decide: the contacts of a filter, a
// search, and the history of a contact. Slow requests get a partial answer, marked as such.
type Previews struct{ service *Service }

const (
	// previewTimeout is how long a request may read contacts, and before that wait for a scan slot,
	// before it returns a partial answer.
	previewTimeout = 300 * time.Millisecond
	// previewSample is how many contacts a preview shows.
	previewSample = 10
)

// SegmentPreview is a preview of a filter.
type SegmentPreview struct {
	Count  int
	Exact  bool          // else Count is a lower bound
	Sample []app.Contact // newest first
}

// PreviewSegment returns the contacts of a segment with this filter; with a topic, those of them
// that mail of the topic would reach. Errors: CodeValidation, CodeNotFound for the topic.
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

// CountReach counts the contacts of a segment that a broadcast would reach; with a topic, a
// broadcast of the topic. Errors: CodeNotFound for the segment and the topic.
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

// readTopicDefault reads the default subscription of a topic. Errors: CodeNotFound.
func readTopicDefault(r *db.Reader, teamID, topicID string, subscription *app.Subscription) error {
	if topicID == "" {
		return nil
	}
	t, err := r.Topic(teamID, topicID)
	*subscription = t.Default
	return base.Lookup("topic", err)
}

// boundedRead runs a read that may scan every contact of a team. If the read is long, it is
// repeated with a scan slot, for previewTimeout at most; fn keeps its partial result.
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
	defer s.service.scans.Release(teamID, 1)
	err = s.service.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{Until: time.Now().Add(previewTimeout)}) })
	if errors.Is(err, db.ErrLong) {
		return nil
	}
	return err
}

// CountLeftOut counts the contacts of an audience that a broadcast leaves out.
func (s *Previews) CountLeftOut(ctx context.Context, a *app.Audience) (out db.LeftOut, err error) {
	err = s.service.Scan(ctx, a.TeamID, func(r *db.Reader, effort db.Effort) (err error) {
		out, err = r.CountLeftOut(ctx, effort, a)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("count left out contacts: %w", err)
	}
	return out, nil
}

// SampleContact returns the newest contact of a segment (nil: of the team), if it is found quickly;
// nil: none.
func (s *Previews) SampleContact(ctx context.Context, r *db.Reader, teamID string, segment *app.Segment) (*app.Contact, error) {
	search := &db.ContactSearch{TeamID: teamID, Segment: segment}
	rows, _, err := r.SearchContacts(ctx, db.Effort{MaxRows: QuickScanRows}, search, app.Page{Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}
