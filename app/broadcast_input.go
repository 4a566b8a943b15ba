package app

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app/kit/htmltext"
	"mailer/app/kit/schedule"
)

// Limits of broadcasts.
const (
	MaxBroadcastName = 255  // characters
	MaxPreview       = 1000 // characters; mail readers show some 150
	// MaxBroadcastContent is how many bytes html and text may have together: every
	// message on its way holds as much.
	MaxBroadcastContent = 5 << 20
	// MaxBroadcastTests is how many addresses one test send takes.
	MaxBroadcastTests = 5
)

// BroadcastInput is a broadcast to create, as the caller wrote it. Empty strings
// and lists stand for absent ones; Text tells absent (nil) from none ("").
type BroadcastInput struct {
	Name       string // absent: the subject
	SegmentID  string // absent: all contacts
	AudienceID string // the same under its old name
	TopicID    string
	From       string
	ReplyTo    []string
	Subject    string
	Preview    string
	HTML       string
	Text       *string
	Design     string
	// Send has the broadcast leave at once, or at ScheduledAt: a time as
	// schedule.Parse reads it.
	Send        bool
	ScheduledAt string
}

// Validate checks the input and returns the draft without id, team and times but
// for that of a schedule: ScheduledAt is zero where nothing has to wait. Errors:
// CodeValidation.
func (in *BroadcastInput) Validate(now time.Time) (Broadcast, error) {
	p := BroadcastPatch{
		Name: changeOf(in.Name), SegmentID: changeOf(in.SegmentID), AudienceID: changeOf(in.AudienceID), TopicID: changeOf(in.TopicID), From: in.From,
		ReplyTo: Change[[]string]{Set: true, Value: in.ReplyTo}, Subject: in.Subject, Preview: changeOf(in.Preview), HTML: changeOf(in.HTML), Design: changeOf(in.Design),
	}
	if in.Text != nil {
		p.Text = Change[string]{Set: true, Value: *in.Text}
	}
	if in.From == "" {
		return Broadcast{}, Invalid("from", "is required")
	}
	if in.Subject == "" {
		return Broadcast{}, Invalid("subject", "is required")
	}
	change, err := p.Validate()
	if err != nil {
		return Broadcast{}, err
	}
	b := Broadcast{Status: DraftBroadcast}
	if err := change.Apply(&b); err != nil {
		return b, err
	}
	if in.ScheduledAt != "" && !in.Send {
		return b, Invalid("scheduled_at", "needs `send`: true")
	}
	b.ScheduledAt, err = ParseBroadcastTime(in.ScheduledAt, now)
	return b, err
}

func changeOf(s string) Change[string] { return Change[string]{Set: s != "", Value: s} }

// ParseBroadcastTime reads when a broadcast is to be sent: the zero time where it
// needs no waiting. Errors: CodeValidation.
func ParseBroadcastTime(scheduledAt string, now time.Time) (time.Time, error) {
	if scheduledAt == "" {
		return time.Time{}, nil
	}
	at, err := schedule.Parse(scheduledAt, now)
	switch {
	case err != nil:
		return time.Time{}, Invalid("scheduled_at", "%s", err)
	case !at.After(now):
		return time.Time{}, nil
	}
	return at, nil
}

// BroadcastPatch changes a draft. In each Change null clears; an empty text or
// list is absent, but for Text.
type BroadcastPatch struct {
	Name       Change[string] // null: the subject
	SegmentID  Change[string]
	AudienceID Change[string] // the same under its old name
	TopicID    Change[string]
	From       string // empty: as it is
	ReplyTo    Change[[]string]
	Subject    string // empty: as it is
	Preview    Change[string]
	HTML       Change[string]
	Text       Change[string] // null: made of HTML; empty: none
	Design     Change[string] // another HTML without one clears it
	Revision   string         // that the change began with; empty: whatever it is now
}

// BroadcastChange is a patch whose parts are checked.
type BroadcastChange struct {
	patch   BroadcastPatch
	from    Address
	replyTo []Address
}

// Validate checks all parts of the patch by themselves, which may take a while:
// they can be megabytes. Errors: CodeValidation.
func (p BroadcastPatch) Validate() (*BroadcastChange, error) {
	c := &BroadcastChange{patch: p}
	for _, check := range []func() error{c.checkName, c.checkAudience, c.checkAddresses, c.checkSubject, c.checkContent} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *BroadcastChange) checkName() error {
	name := c.patch.Name.Value
	switch {
	case name != "" && strings.TrimSpace(name) == "":
		return Invalid("name", "must not be blank")
	case utf8.RuneCountInString(name) > MaxBroadcastName:
		return Invalid("name", "can have at most %d characters", MaxBroadcastName)
	case HasHidden(name):
		return Invalid("name", "must not contain line breaks, other control characters or invisible formatting")
	}
	return nil
}

// checkAudience reads the ids, and the segment's two names as one.
func (c *BroadcastChange) checkAudience() error {
	p := &c.patch
	for _, ref := range []struct {
		field, kind string
		id          *Change[string]
	}{{"segment_id", "segment", &p.SegmentID}, {"audience_id", "segment", &p.AudienceID}, {"topic_id", "topic", &p.TopicID}} {
		ref.id.Set = ref.id.Null || ref.id.Value != ""
		if ref.id.Value == "" {
			continue
		}
		id, ok := ParseID(ref.id.Value)
		if !ok {
			return Invalid(ref.field, "must be the id of a %s", ref.kind)
		}
		ref.id.Value = id
	}
	if p.SegmentID.Set && p.AudienceID.Set && p.SegmentID != p.AudienceID {
		return Invalid("audience_id", "is `segment_id` under its old name: the two must not differ")
	}
	if !p.SegmentID.Set {
		p.SegmentID = p.AudienceID
	}
	return nil
}

func (c *BroadcastChange) checkAddresses() (err error) {
	if c.patch.From != "" {
		if c.from, err = broadcastAddress("from", c.patch.From); err != nil {
			return err
		}
	}
	list := Present(c.patch.ReplyTo.Value)
	if len(list) > MaxRecipients {
		return Invalid("reply_to", "must not hold more than %d addresses", MaxRecipients)
	}
	for i, s := range list {
		a, err := broadcastAddress(fmt.Sprintf("reply_to[%d]", i), s)
		if err != nil {
			return err
		}
		c.replyTo = append(c.replyTo, a)
	}
	return nil
}

func broadcastAddress(field, s string) (Address, error) {
	if strings.Contains(s, "{{{") {
		return Address{}, Invalid(field, "can't contain placeholders: use them in subject, html and text only")
	}
	a, err := ParseAddress(s)
	if err != nil {
		return a, Invalid(field, "%v", err)
	}
	return a, nil
}

func (c *BroadcastChange) checkSubject() error {
	if c.patch.Subject == "" {
		return nil
	}
	if err := checkSubject(c.patch.Subject); err != nil {
		return err
	}
	return CheckBroadcastPlaceholders("subject", c.patch.Subject)
}

func (c *BroadcastChange) checkContent() error {
	preview := c.patch.Preview.Value
	if utf8.RuneCountInString(preview) > MaxPreview {
		return Invalid("preview_text", "can have at most %d characters", MaxPreview)
	}
	for _, part := range []struct{ field, text string }{{"preview_text", preview}, {"html", c.patch.HTML.Value}, {"text", c.patch.Text.Value}} {
		if err := checkBody(part.field, part.text); err != nil {
			return err
		}
		if err := CheckBroadcastPlaceholders(part.field, htmltext.RepairUnsubscribeLinks(part.text)); err != nil {
			return err
		}
	}
	return nil
}

// changeBodies changes what a mail says: another HTML without a design drops that.
func changeBodies(html, design *string, text **string, newHTML, newDesign, newText Change[string]) {
	was := *html
	if changeText(html, newHTML); *html != was {
		*design = ""
	}
	changeText(design, newDesign)
	switch {
	case newText.Null:
		*text = nil
	case newText.Set:
		*text = &newText.Value
	}
}

// Apply changes the draft. Errors: CodeValidation for one that would have nothing
// to say, or too much.
func (c *BroadcastChange) Apply(b *Broadcast) error {
	p := &c.patch
	if p.From != "" {
		b.From = c.from
	}
	if p.ReplyTo.Null || len(c.replyTo) > 0 {
		b.ReplyTo = c.replyTo
	}
	if p.Subject != "" {
		b.Subject = p.Subject
	}
	changeText(&b.Name, p.Name)
	changeText(&b.SegmentID, p.SegmentID)
	changeText(&b.TopicID, p.TopicID)
	changeText(&b.Preview, p.Preview)
	changeBodies(&b.HTML, &b.Design, &b.Text, p.HTML, p.Design, p.Text)
	if b.Name == "" {
		b.Name = shorten(OneLine(b.Subject), MaxBroadcastName)
	}
	return b.checkSize()
}

// NamesSegment reports whether the change puts a segment into the broadcast.
func (c *BroadcastChange) NamesSegment() bool { return c.patch.SegmentID.Value != "" }

// NamesTopic reports whether the change puts a topic into the broadcast.
func (c *BroadcastChange) NamesTopic() bool { return c.patch.TopicID.Value != "" }

func (c *BroadcastContent) checkSize() error {
	text := ""
	if c.Text != nil {
		text = *c.Text
	}
	if c.HTML == "" && text == "" {
		return Invalid("html", "or `text` is required")
	}
	if len(c.HTML)+len(text) > MaxBroadcastContent {
		return Invalid("html", "and `text` must not be longer than %d bytes together", MaxBroadcastContent)
	}
	return nil
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:min(len(runes), n)])
}

// Copy is a draft of the same audience and content, without id and times.
func (b *Broadcast) Copy() Broadcast {
	const suffix = " (copy)"
	out := Broadcast{
		TeamID: b.TeamID, Name: shorten(b.Name, MaxBroadcastName-len(suffix)) + suffix, SegmentID: b.SegmentID, TopicID: b.TopicID,
		From: b.From, ReplyTo: b.ReplyTo, Subject: b.Subject, Status: DraftBroadcast, BroadcastContent: b.BroadcastContent,
	}
	out.Snapshot = nil
	return out
}
