package listmonk

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/rules/mergetags"
)

// The known types of templates, campaigns and content.
const (
	frameType      = "campaign"
	visualType     = "campaign_visual"
	visual         = "visual"
	plainText      = "plain"
	markdown       = "markdown"
	optinCampaign  = "optin"
	emailMessenger = "email"
)

// templates requests all templates, which come in one answer.
func (r *reader) templates(ctx context.Context, take func(*template) error) error {
	var answer struct {
		Data *[]jsontext.Value `json:"data"`
	}
	if err := r.api.Get(ctx, "/api/templates", nil, &answer); err != nil {
		return err
	}
	if answer.Data == nil {
		return fmt.Errorf("/api/templates: %w", errNoPage)
	}
	for i, raw := range *answer.Data {
		var t template
		if decode(raw, &t) != nil {
			t = template{Name: fmt.Sprintf("place %d of the answer", i+1), Type: "broken"}
		}
		if err := take(&t); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readTemplates(ctx context.Context) error {
	return r.templates(ctx, func(t *template) error {
		if t.ID < 1 {
			return r.unmovable("template at "+t.Name, errShape.Error())
		}
		name, err := r.name(archive.Templates, "template", t.Name, t.ID, app.MaxTemplateName)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("template %q", name)
		if t.Type == visualType || present(t.Source) {
			if err := r.unmovable(what, reasonBlocks); err != nil {
				return err
			}
		}
		out := archive.Template{ID: strconv.FormatInt(t.ID, 10), Name: name, CreatedAt: t.CreatedAt.Time, UpdatedAt: t.UpdatedAt.Time}
		var keys []string
		turn := func(use mergetags.Use, part, text string) string {
			done := mergetags.Convert(mergetags.Of(text, mergetags.Listmonk), use, text)
			keys = append(keys, done.Variables...)
			if err == nil {
				err = r.named(what+part, done.Unconverted)
			}
			return done.Text
		}
		out.Subject = turn(mergetags.TemplateSubject, ", subject", line(t.Subject))
		out.HTML = turn(mergetags.Template, "", t.Body)
		seen := map[string]bool{}
		for _, key := range keys {
			if !seen[key] && len(out.Variables) < app.MaxTemplateVariables {
				out.Variables = append(out.Variables, archive.Variable{Key: key, Type: app.StringProperty, Fallback: archive.JSON("")})
			}
			seen[key] = true
		}
		if err != nil {
			return err
		}
		return r.w.Put(archive.Templates, &out)
	})
}

const reasonBlocks = "the blocks of the visual editor stay behind: its HTML is here"

// named reports the tags that could not be converted.
func (r *reader) named(what string, tags []mergetags.Tag) error {
	for _, t := range tags {
		if err := r.unmovable(fmt.Sprintf("%s, line %d: %s", what, t.Line, line(t.Text)), t.Reason); err != nil {
			return err
		}
	}
	return nil
}

// present reports whether a value exists and is not empty.
func present(v jsontext.Value) bool {
	return len(v) > 0 && v.Kind() != 'n' && string(v) != `""` && string(v) != "{}" && string(v) != "[]"
}

func (r *reader) readCampaigns(ctx context.Context) error {
	if err := r.readFrames(ctx); err != nil {
		return err
	}
	return r.readByID(ctx, &paged{kind: archive.Broadcasts, path: "/api/campaigns", query: inOrder("created_at"), size: fewPerPage, take: func(raw jsontext.Value, at int) error {
		var c campaign
		if err := decode(raw, &c); err != nil || c.ID < 1 {
			return r.unmovable(fmt.Sprintf("campaign %d of the answers", at), errShape.Error())
		}
		return r.campaign(&c)
	}})
}

// readFrames reads the templates of campaigns.
func (r *reader) readFrames(ctx context.Context) error {
	r.frames, r.frame = map[int64]string{}, ""
	return r.templates(ctx, func(t *template) error {
		if t.Type != frameType && t.Type != "" {
			return nil
		}
		r.frames[t.ID] = t.Body
		if t.Default {
			r.frame = t.Body
		}
		return nil
	})
}

// campaign writes a draft for a campaign.
func (r *reader) campaign(c *campaign) error {
	key := archive.Broadcasts + "#" + archive.Kind(strconv.FormatInt(c.ID, 10))
	if _, seen := r.s.Names[string(key)]; seen {
		return nil // moved to another page
	}
	r.s.Names[string(key)] = c.ID
	name, err := r.name(archive.Broadcasts, "campaign", c.Name, c.ID, app.MaxBroadcastName)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("campaign %q", name)
	if why := otherMessenger(c); why != "" {
		return r.unmovable(what, why)
	}
	b := archive.Broadcast{ID: strconv.FormatInt(c.ID, 10), Name: name, Status: app.DraftBroadcast, CreatedAt: c.CreatedAt.Time}
	if b.From = strings.TrimSpace(c.From); strings.Contains(b.From, "{{") {
		b.From = ""
		err = r.unmovable(fmt.Sprintf("%s, from: %s", what, line(c.From)), "a sender can't hold tags")
	}
	turn := func(use mergetags.Use, part, text string) string {
		done := mergetags.Convert(mergetags.Of(text, mergetags.Listmonk), use, text)
		if err == nil {
			err = r.named(what+part, done.Unconverted)
		}
		return done.Text
	}
	b.Subject = turn(mergetags.BroadcastSubject, ", subject", line(c.Subject))
	html, text := r.content(c)
	b.HTML = turn(mergetags.Broadcast, "", html)
	if text != nil {
		s := turn(mergetags.Broadcast, ", text", *text)
		b.Text = &s
	}
	for _, why := range r.differs(c, &b) {
		if err == nil {
			err = r.unmovable(what, why)
		}
	}
	if err != nil {
		return err
	}
	return r.w.Put(archive.Broadcasts, &b)
}

// otherMessenger returns why a campaign is not a broadcast; empty: it is.
func otherMessenger(c *campaign) string {
	switch {
	case c.Type == optinCampaign:
		return "it asks to confirm a subscription, which is no broadcast"
	case c.Messenger != "" && c.Messenger != emailMessenger && !strings.HasPrefix(c.Messenger, emailMessenger+"-"):
		return "it is no email: it goes out by " + line(c.Messenger)
	}
	return ""
}

// content returns the content of a campaign in its template before tags are converted. A nil text
// is derived from the HTML.
func (r *reader) content(c *campaign) (html string, text *string) {
	frame := r.frame
	if own, ok := r.frames[c.TemplateID]; ok {
		frame = own
	}
	switch c.ContentType {
	case markdown:
		return "", &c.Body
	case plainText:
		body := c.Body
		if !strings.Contains(frame, "<") { // an HTML template would show the source
			body = framed(frame, body)
		}
		return "", &body
	case visual: // has its own frame
		return c.Body, c.AltBody
	}
	return framed(frame, c.Body), c.AltBody
}

// framed inserts a body into a template. A template without a placeholder for it is ignored.
func framed(frame, body string) string {
	for at := 0; ; {
		open := strings.Index(frame[at:], "{{")
		if open < 0 {
			return body
		}
		open += at
		inside, _, closed := strings.Cut(frame[open+2:], "}}")
		if !closed {
			return body
		}
		end := open + 2 + len(inside) + 2
		if before, trim := strings.CutPrefix(inside, "-"); trim {
			inside = before
		}
		if strings.TrimSuffix(strings.Join(strings.Fields(inside), ""), "-") == `template"content".` {
			return frame[:open] + body + frame[end:]
		}
		at = open + 2
	}
}

// differs returns which properties of a campaign the draft lacks, and sets the audience of the
// draft.
func (r *reader) differs(c *campaign, b *archive.Broadcast) (why []string) {
	if c.ContentType == markdown {
		why = append(why, "it is written in Markdown, which is kept as it is in the text part: HTML has to be made of it")
	}
	if present(c.Source) {
		why = append(why, reasonBlocks)
	}
	if len(c.Media) > 0 {
		why = append(why, fmt.Sprintf("its %d attachments are not imported: add them to the draft", len(c.Media)))
	}
	if len(c.Headers) > 0 {
		why = append(why, "broadcasts have no headers of their own")
	}
	switch c.Status {
	case "scheduled", "running", "paused":
		why = append(why, "it is "+c.Status+" there and a draft here: nothing that is read is sent")
	}
	if len(c.Tags) > 0 {
		r.odd("tags of campaigns", "broadcasts have none")
	}
	k, known := knownList{}, false
	if len(c.Lists) == 1 {
		k, known = r.s.Lists[c.Lists[0].ID]
	}
	switch {
	case known && k.Topic:
		b.TopicID = strconv.FormatInt(c.Lists[0].ID, 10)
	case known:
		b.SegmentID = strconv.FormatInt(c.Lists[0].ID, 10)
	default:
		var names []string
		for _, l := range c.Lists {
			names = append(names, strconv.Quote(app.Excerpt(l.Name)))
		}
		if len(names) == 0 {
			return append(why, "it goes to no list: choose whom it is for")
		}
		why = append(why, "a broadcast goes to one segment and one topic, this to "+strings.Join(names, " or ")+": choose whom it is for")
	}
	return why
}
