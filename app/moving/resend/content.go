package resend

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/rules/mergetags"
)

type template struct {
	Name        string     `json:"name"`
	Alias       string     `json:"alias"`
	Status      string     `json:"status"`
	From        string     `json:"from"`
	ReplyTo     []string   `json:"reply_to"`
	Subject     string     `json:"subject"`
	HTML        string     `json:"html"`
	Text        *string    `json:"text"`
	Variables   []variable `json:"variables"`
	Unpublished bool       `json:"has_unpublished_versions"`
	PublishedAt stamp      `json:"published_at"`
	CreatedAt   stamp      `json:"created_at"`
	UpdatedAt   stamp      `json:"updated_at"`
}

type variable struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	Type      string `json:"type"`
	Fallback  any    `json:"fallback_value"`
	CreatedAt stamp  `json:"created_at"`
	UpdatedAt stamp  `json:"updated_at"`
}

func (r *reader) templates(ctx context.Context) error {
	return r.walk(ctx, archive.Templates, "/templates", nil, func(ctx context.Context, id string, _ jsontext.Value) error {
		var t template
		if there, err := r.one(ctx, "/templates", id, &t); !there {
			return err
		}
		return r.template(id, &t)
	})
}

// template writes a template. A published one stays published only if it has no unpublished
// changes: the API returns only one version.
func (r *reader) template(id string, t *template) error {
	out := archive.Template{ID: id, Name: t.Name, Alias: t.Alias, CreatedAt: t.CreatedAt.Time, UpdatedAt: t.UpdatedAt.Time,
		Content: archive.Content{From: t.From, ReplyTo: someOf(t.ReplyTo), Subject: t.Subject, HTML: t.HTML, Text: t.Text}}
	published := t.Status == "published"
	for i := range t.Variables {
		v, why := t.Variables[i].archived()
		out.Variables = append(out.Variables, v)
		if why == "" {
			continue
		}
		published = false
		if err := r.unmovable(fmt.Sprintf("template %q, variable %q", t.Name, v.Key), why); err != nil {
			return err
		}
	}
	sound, err := r.converted(fmt.Sprintf("template %q", t.Name), &out.Content, nil, mergetags.TemplateSubject, mergetags.Template)
	if err != nil {
		return err
	}
	published = published && sound
	if published && t.Unpublished {
		published = false
		if err := r.unmovable(fmt.Sprintf("template %q: what is published", t.Name), "it has changes that are not published, and the API tells one version: it is a draft here, look at it and publish it"); err != nil {
			return err
		}
	}
	if published {
		content := out.Content
		out.Published, out.PublishedAt = &content, t.PublishedAt.Time
	}
	return r.w.Put(archive.Templates, &out)
}

// converted reports tags that are not valid placeholders here and declares missing variables.
// sound reports that nothing was reported.
func (r *reader) converted(what string, c *archive.Content, preview *string, subject, body mergetags.Use) (sound bool, err error) {
	declared := map[string]bool{}
	for i := range c.Variables {
		declared[c.Variables[i].Key] = true
	}
	sound = true
	turn := func(part string, use mergetags.Use, text *string) {
		if text == nil || err != nil {
			return
		}
		done := mergetags.Convert(mergetags.Of(*text, mergetags.Resend), use, *text)
		*text = done.Text
		for _, tag := range done.Unconverted {
			sound = false
			if err == nil {
				err = r.unmovable(fmt.Sprintf("%s%s, line %d: %s", what, part, tag.Line, tag.Text), tag.Reason)
			}
		}
		for _, key := range done.Variables {
			if body == mergetags.Template && !declared[key] {
				c.Variables = append(c.Variables, archive.Variable{Key: key, Type: app.StringProperty})
			}
			declared[key] = true
		}
	}
	turn(", subject", subject, &c.Subject)
	turn(", preview text", subject, preview)
	turn("", body, &c.HTML)
	turn(", text", body, c.Text)
	return sound, err
}

// archived returns the variable in a form that is valid here; why is what was lost.
func (v *variable) archived() (out archive.Variable, why string) {
	out = archive.Variable{ID: v.ID, Key: v.Key, Type: app.PropertyType(v.Type), CreatedAt: v.CreatedAt.Time, UpdatedAt: v.UpdatedAt.Time}
	fallback := v.Fallback
	switch f := fallback.(type) {
	case nil, string, float64:
	case bool:
		fallback = fmt.Sprint(f)
	default:
		fallback = nil
		why = "its fallback is neither a text nor a number and is left out; the template is a draft"
	}
	if out.Type != app.StringProperty && out.Type != app.NumberProperty {
		why = fmt.Sprintf("variables of the type %q don't exist here: it is a text; the template is a draft", v.Type)
		out.Type = app.StringProperty
		if f, is := fallback.(float64); is {
			fallback = fmt.Sprint(f)
		}
	}
	out.Fallback = archive.JSON(fallback)
	return out, why
}

type broadcast struct {
	Name        string              `json:"name"`
	Segment     string              `json:"segment_id"`
	Audience    string              `json:"audience_id"`
	Topic       string              `json:"topic_id"`
	From        string              `json:"from"`
	ReplyTo     []string            `json:"reply_to"`
	Subject     string              `json:"subject"`
	Preview     string              `json:"preview_text"`
	HTML        string              `json:"html"`
	Text        *string             `json:"text"`
	Status      app.BroadcastStatus `json:"status"`
	CreatedAt   stamp               `json:"created_at"`
	ScheduledAt stamp               `json:"scheduled_at"`
	SentAt      stamp               `json:"sent_at"`
}

func (r *reader) broadcasts(ctx context.Context) error {
	return r.walk(ctx, archive.Broadcasts, "/broadcasts", nil, func(ctx context.Context, id string, _ jsontext.Value) error {
		var b broadcast
		if there, err := r.one(ctx, "/broadcasts", id, &b); !there {
			return err
		}
		return r.broadcast(id, &b)
	})
}

func (r *reader) broadcast(id string, b *broadcast) error {
	if b.Segment == "" {
		b.Segment = b.Audience
	}
	for _, g := range r.at.Groups {
		if g.Audience == b.Segment && g.Audience != "" {
			b.Segment = g.ID
		}
	}
	what := fmt.Sprintf("broadcast %q (%s)", b.Name, id)
	if why := b.droppedFields(); why != "" {
		if err := r.unmovable(what, why); err != nil {
			return err
		}
	}
	if b.Segment == "" {
		if err := r.unmovable(what+": its segment", "it names none: the draft here is to all contacts until one is chosen"); err != nil {
			return err
		}
	}
	content := archive.Content{Subject: b.Subject, HTML: b.HTML, Text: b.Text}
	if _, err := r.converted(what, &content, &b.Preview, mergetags.BroadcastSubject, mergetags.Broadcast); err != nil {
		return err
	}
	return r.w.Put(archive.Broadcasts, &archive.Broadcast{ID: id, Name: b.Name, SegmentID: b.Segment, TopicID: b.Topic, From: b.From, ReplyTo: someOf(b.ReplyTo), Subject: content.Subject,
		Preview: b.Preview, HTML: content.HTML, Text: content.Text, Status: app.DraftBroadcast, CreatedAt: b.CreatedAt.Time})
}

// droppedFields returns which parts of a broadcast do not become part of the draft.
func (b *broadcast) droppedFields() string {
	switch b.Status {
	case app.DraftBroadcast, "":
		return ""
	case app.SentBroadcast:
		return "it was sent" + onOff(b.SentAt) + ": it comes as a draft, its figures stay at Resend"
	case app.ScheduledBroadcast:
		return "it is scheduled at Resend" + onOff(b.ScheduledAt) + " and will leave there unless it is canceled there: it comes as a draft"
	case app.QueuedBroadcast:
		return "it is leaving at Resend: it comes as a draft"
	}
	return "its status at Resend is " + string(b.Status) + ": it comes as a draft"
}

func onOff(at stamp) string {
	if at.IsZero() {
		return ""
	}
	return " (" + at.Format(time.RFC3339) + ")"
}

// someOf returns all, or nil if it is empty, which archives leave out.
func someOf(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	return all
}
