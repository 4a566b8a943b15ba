package app

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app/kit/schedule"
)

// BroadcastInput is a broadcast to create, as the caller wrote it. Empty strings and lists mean
// absent. Text distinguishes absent (nil) from no text ("").
type BroadcastInput struct {
	Name        string // empty: the subject
	SegmentID   string // empty: all contacts
	AudienceID  string // former name of SegmentID
	TopicID     string
	From        string
	ReplyTo     []string
	Subject     string
	Preview     string
	HTML        string
	Text        *string
	Design      string
	Syntax      string // empty: plain
	Variants    VariantChanges
	Attachments []Attachment
	Archive     *bool
	Rules       AttachmentRules `json:"-"`
	// Send sends the broadcast immediately, or at ScheduledAt, a time that schedule.Parse reads.
	Send        bool
	ScheduledAt string
}

// Validate checks the input and returns the draft without id, team and times. ScheduledAt is set
// only if the broadcast is scheduled for a later time. The caller checks the texts in their syntax
// (render.CheckBroadcast). Errors: CodeValidation.
func (in *BroadcastInput) Validate(now time.Time) (Broadcast, error) {
	p := BroadcastPatch{
		Name: changeOf(in.Name), SegmentID: changeOf(in.SegmentID), AudienceID: changeOf(in.AudienceID), TopicID: changeOf(in.TopicID), From: in.From,
		ReplyTo: Change[[]string]{Set: true, Value: in.ReplyTo}, Subject: in.Subject, Preview: changeOf(in.Preview), HTML: changeOf(in.HTML), Design: changeOf(in.Design),
		Syntax: in.Syntax, Variants: Change[VariantChanges]{Set: true, Value: in.Variants},
		Attachments: Change[[]Attachment]{Set: len(in.Attachments) > 0, Value: in.Attachments}, Rules: in.Rules,
	}
	if in.Text != nil {
		p.Text = Change[string]{Set: true, Value: *in.Text}
	}
	if in.Archive != nil {
		p.Archive = Change[bool]{Set: true, Value: *in.Archive}
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

// ParseBroadcastTime returns the time at which a broadcast is to be sent, or the zero time if it
// can be sent now. Errors: CodeValidation.
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

// BroadcastPatch changes a draft. In a Change, null clears the field. An empty text or list means
// absent, except for Text.
type BroadcastPatch struct {
	Name       Change[string] // null: the subject
	SegmentID  Change[string]
	AudienceID Change[string] // former name of SegmentID
	TopicID    Change[string]
	From       string // empty: unchanged
	ReplyTo    Change[[]string]
	Subject    string // empty: unchanged
	Preview    Change[string]
	HTML       Change[string]
	Text       Change[string] // null: derived from HTML; empty: none
	Design     Change[string] // cleared if HTML changes without a new design
	Syntax     string         // empty: unchanged
	Variants   Change[VariantChanges]
	// Attachments replaces all files. One with an id is a file of the broadcast, which stays. null
	// and an empty list remove all.
	Attachments Change[[]Attachment]
	Rules       AttachmentRules
	Archive     Change[bool] // null: as if it was never set
	Revision    string       // the revision that the change is based on; empty: any
}

// BroadcastChange is a validated patch.
type BroadcastChange struct {
	patch   BroadcastPatch
	syntax  Syntax
	from    Address
	replyTo []Address
	files   []Attachment
}

// Validate checks the parts of the patch without the database and without their template language,
// which depends on the draft. Content of megabytes takes time, so call it outside a transaction.
// Errors: CodeValidation.
func (p BroadcastPatch) Validate() (*BroadcastChange, error) {
	c := &BroadcastChange{patch: p}
	for _, check := range []func() error{c.checkName, c.checkAudience, c.checkAddresses, c.checkSubject, c.checkContent, c.checkAttachments} {
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

// checkAudience reads the ids. SegmentID and AudienceID are two names of one field.
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
	return checkSubject("subject", c.patch.Subject)
}

func (c *BroadcastChange) checkContent() (err error) {
	if c.syntax, err = ParseSyntax(c.patch.Syntax); err != nil {
		return err
	}
	preview := c.patch.Preview.Value
	if utf8.RuneCountInString(preview) > MaxPreview {
		return Invalid("preview_text", "can have at most %d characters", MaxPreview)
	}
	for _, part := range []struct{ field, text string }{{"preview_text", preview}, {"html", c.patch.HTML.Value}, {"text", c.patch.Text.Value}} {
		if err := checkBody(part.field, part.text); err != nil {
			return err
		}
	}
	variants, err := ChangeVariants(nil, c.patch.Variants)
	if err != nil {
		return err
	}
	return variants.check()
}

func (c *BroadcastChange) checkAttachments() (err error) {
	c.files, err = c.patch.Rules.check(c.patch.Attachments.Value)
	return err
}

// applyFiles sets the files of the draft.
func (c *BroadcastChange) applyFiles(b *Broadcast) error {
	if !c.patch.Attachments.Set {
		return nil
	}
	out, shown := make([]Attachment, len(c.files)), map[string]bool{}
	for i, a := range c.files {
		field := fmt.Sprintf("attachments[%d]", i)
		if at := slices.IndexFunc(b.Attachments, func(was Attachment) bool { return was.ID == a.ID }); at >= 0 {
			a = b.Attachments[at]
		} else if c.patch.Attachments.Value[i].ID != "" {
			return Invalid(field+".keep", "must be the id of an attachment of this broadcast")
		}
		if slices.ContainsFunc(out[:i], func(o Attachment) bool { return o.ID == a.ID }) {
			return Invalid(field+".keep", "is given twice")
		}
		if shown[a.ContentID] {
			return Invalid(field+".content_id", "is given twice")
		}
		shown[a.ContentID], out[i] = a.ContentID != "", a
	}
	b.Attachments = out
	return nil
}

// Files returns the new files of the change; those to be fetched have no content yet.
func (c *BroadcastChange) Files() []Attachment { return c.files }

// changeBodies changes the content of a mail. A new HTML without a design clears the design.
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

// Apply changes the draft. Errors: CodeValidation if the content would be empty or too large. The
// caller checks the changed document (render.CheckBroadcast).
func (c *BroadcastChange) Apply(b *Broadcast) (err error) {
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
	if p.Syntax != "" {
		b.Syntax = c.syntax
	}
	if b.Variants, err = ChangeVariants(b.Variants, p.Variants); err != nil {
		return err
	}
	if p.Archive.Set {
		b.Archive = nil
		if !p.Archive.Null {
			b.Archive = &p.Archive.Value
		}
	}
	if b.Name == "" {
		b.Name = shorten(OneLine(b.Subject), MaxBroadcastName)
	}
	if err := c.applyFiles(b); err != nil {
		return err
	}
	return b.checkSize()
}

// ChangesTexts reports whether the change sets a text or the syntax.
func (c *BroadcastChange) ChangesTexts() bool {
	p := &c.patch
	return p.Subject != "" || p.Preview.Set || p.HTML.Set || p.Text.Set || p.Syntax != "" || p.Variants.Set
}

// NamesSegment reports whether the change sets a segment.
func (c *BroadcastChange) NamesSegment() bool { return c.patch.SegmentID.Value != "" }

// NamesTopic reports whether the change sets a topic.
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
	return c.Variants.checkTotal(len(c.HTML)+len(text), MaxBroadcastContent)
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:min(len(runes), n)])
}

// Copy returns a draft with the same audience and content, without id, attachments and times.
func (b *Broadcast) Copy() Broadcast {
	const suffix = " (copy)"
	out := Broadcast{
		TeamID: b.TeamID, Name: shorten(b.Name, MaxBroadcastName-len(suffix)) + suffix, SegmentID: b.SegmentID, TopicID: b.TopicID,
		From: b.From, ReplyTo: b.ReplyTo, Subject: b.Subject, Status: DraftBroadcast, Archive: b.Archive, BroadcastContent: b.BroadcastContent,
	}
	out.Snapshot, out.Attachments = nil, nil
	return out
}
