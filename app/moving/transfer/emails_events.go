package transfer

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

// Limits of the events that are read at a time.
const (
	maxTimeline   = 4000 // of one email: more than a timeline shows
	timelineLines = 5000 // in one write
)

// events adds the timelines to imported emails that have none.
func (h *emailHistory) events() error {
	var group []app.Event
	settle := func() error {
		if len(group) == 0 {
			return nil
		}
		h.timelines, h.lines = append(h.timelines, group), h.lines+len(group)
		if group = nil; h.lines < timelineLines {
			return nil
		}
		return h.writeTimelines()
	}
	var in archive.Event
	done := 0
	err := h.r.Each(archive.Events, &in, func(line int) error {
		if err := h.readEvents(archive.Events, &done); err != nil {
			return err
		}
		ev, reason := eventOf(&in)
		if len(group) > 0 && group[0].EmailID != ev.EmailID {
			if err := settle(); err != nil {
				return err
			}
		}
		if len(group) == maxTimeline {
			reason = fmt.Sprintf("its email has more than %d events", maxTimeline)
		}
		if reason != "" {
			h.refuse(archive.Position{File: string(archive.Events) + ".json", Line: line}, reason)
			return nil
		}
		group = append(group, ev)
		return nil
	})
	if err != nil {
		return err
	}
	if err := settle(); err != nil {
		return err
	}
	if err := h.writeTimelines(); err != nil {
		return err
	}
	return h.progress(archive.Events, done)
}

// writeTimelines writes pending timelines, each to the email of the same archive.
func (h *emailHistory) writeTimelines() error {
	all := h.timelines
	h.timelines, h.lines = nil, 0
	if len(all) == 0 || !h.Apply {
		return nil
	}
	err := h.write(h.ctx, func(tx *db.Tx) error {
		for _, events := range all {
			for _, id := range h.ids(events[0].EmailID) {
				err := tx.InsertHistoryEvents(h.team.ID, id, events)
				if err == nil {
					break
				}
				if !errors.Is(err, db.ErrNotFound) { // existing: it is not history, or has its events
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// eventOf returns an archived event in stored form, or the reason why it is invalid.
func eventOf(in *archive.Event) (ev app.Event, reason string) {
	email, ok := app.ParseID(in.EmailID)
	id, ok2 := app.ParseID(in.ID)
	switch {
	case !ok || !ok2:
		return ev, "its id, or that of its email, is not a UUID"
	case in.CreatedAt.IsZero():
		return ev, "created_at is missing"
	case !isWord(string(in.Type)):
		return ev, "its type is none"
	}
	return app.Event{ID: id, EmailID: email, Type: in.Type, Recipient: in.Recipient, Detail: in.Detail, CreatedAt: in.CreatedAt}, ""
}

// isWord reports whether a text is like "delivery_delayed".
func isWord(text string) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return text != "" && len(text) <= 40
}
