package mail

import (
	"context"
	"encoding/binary"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/htmltext"
	"mailer/app/kit/membudget"
	"mailer/app/rules/inlineimages"
	"mailer/db"
)

// Previews implements previews of mail in frames, at signed URLs that work for minutes. The URL of
// an email names the email; a rendered draft is kept in memory for that time.
type Previews struct {
	service *Service
	kept    keptPreviews
}

const (
	previewPurpose = "preview v1"
	// previewTTL is how long a preview URL works.
	previewTTL = 10 * time.Minute
	previewLen = 8 + 1 + 2*36 // a time, a byte of flags and two ids
	// Flags of a preview URL.
	withImages = 1
	ofDraft    = 2
)

// Preview is the URL of a preview, with what the page around the frame needs.
type Preview struct {
	Token        string // the signed part of the URL; empty: the draft is too large to be kept
	Expires      time.Time
	RemoteImages int // images that the mail loads from other servers
	Height       int // estimated height of the page, in CSS pixels
}

// PreviewContent is the content of a frame.
type PreviewContent struct {
	HTML   string // empty: the mail has text only
	Text   string
	Images bool // with images from other servers
}

// PreviewEmail returns the URL of a preview of an email; images shows images from other servers
// too. Errors: CodeNotFound.
func (p *Previews) PreviewEmail(ctx context.Context, key *app.Key, id string, images bool) (out Preview, err error) {
	email, err := p.service.GetEmail(ctx, key, id)
	if err != nil {
		return out, err
	}
	if !email.ContentDeletedAt.IsZero() {
		return out, errContentDeleted(email)
	}
	if err = p.measure(ctx, key, email.HTML, &out); err != nil {
		return out, err
	}
	out.Token, out.Expires = p.address(key.TeamID, id, images, 0)
	return out, nil
}

// KeepDraft keeps the content of a draft with the inline images among its files, and returns the
// URL of its preview. Error: that of ctx.
func (p *Previews) KeepDraft(ctx context.Context, key *app.Key, content, text string, files []app.Attachment, images bool) (out Preview, err error) {
	id := app.NewID()
	if err = p.measure(ctx, key, content, &out); err != nil {
		return out, err
	}
	if content, err = p.service.inlineImages(ctx, db.FilesOf(key.TeamID, "", files), content); err != nil {
		return out, err
	}
	out.Token, out.Expires = p.address(key.TeamID, id, images, ofDraft)
	if !p.kept.keep(key.TeamID, id, &PreviewContent{HTML: htmltext.DisableLinkElements(content), Text: text, Images: images}) {
		out.Token = ""
	}
	return out, nil
}

// measure counts the remote images of a mail and estimates its height. A large mail needs a permit.
// Error: that of ctx.
func (p *Previews) measure(ctx context.Context, key *app.Key, content string, out *Preview) error {
	if len(content) > SmallRender {
		permits := p.service.NewRenderer(key)
		defer permits.Close()
		if err := permits.TakePermit(ctx); err != nil {
			return err
		}
	}
	out.RemoteImages, out.Height = htmltext.RemoteImages(content), htmltext.Height(content)
	return ctx.Err()
}

// address returns the signed part of a preview URL.
func (p *Previews) address(teamID, id string, images bool, flags byte) (token string, expires time.Time) {
	if images {
		flags |= withImages
	}
	expires = clock.Now().Add(previewTTL).Truncate(time.Second)
	message := binary.BigEndian.AppendUint64(make([]byte, 0, previewLen), uint64(expires.Unix()))
	return p.service.Sealer.SealToken(previewPurpose, append(append(message, flags), teamID+id...)), expires
}

// ShowPreview returns the content of a preview. Errors: CodeNotFound, with the same message for any
// invalid token.
func (p *Previews) ShowPreview(ctx context.Context, token string) (*PreviewContent, error) {
	message, ok := p.service.Sealer.OpenToken(previewPurpose, token, previewLen, previewLen)
	if !ok || clock.Now().Unix() >= int64(binary.BigEndian.Uint64(message)) {
		return nil, errPreviewGone()
	}
	flags, ids := message[8], string(message[9:])
	teamID, id := ids[:36], ids[36:]
	if flags&ofDraft != 0 {
		if shown := p.kept.get(teamID, id); shown != nil {
			return shown, nil
		}
		return nil, errPreviewGone()
	}
	email, err := p.service.GetEmail(ctx, &app.Key{TeamID: teamID}, id)
	if err != nil {
		return nil, err
	}
	if !email.ContentDeletedAt.IsZero() {
		return nil, errPreviewGone()
	}
	shown := &PreviewContent{HTML: email.HTML, Text: email.Text, Images: flags&withImages != 0}
	if err := membudget.Reserve(ctx, int64(len(shown.HTML))); err != nil { // for the copy below
		return nil, err
	}
	shown.HTML, err = p.service.inlineImages(ctx, db.FilesOf(teamID, id, email.Attachments), htmltext.DisableLinkElements(shown.HTML))
	return shown, err
}

func errPreviewGone() error {
	return app.Errorf(app.CodeNotFound, "This preview has ended; open it again")
}

// inlineImages replaces cid: URLs in the HTML of a mail with the inline images among its files.
func (s *Service) inlineImages(ctx context.Context, all []db.AttachmentFile, content string) (string, error) {
	refs := inlineimages.References(content)
	if len(refs) == 0 {
		return content, nil
	}
	pictures, err := s.inlinePictures(ctx, all, refs)
	if err != nil || len(pictures) == 0 {
		return content, err
	}
	if err := membudget.Reserve(ctx, inlineimages.Growth(content, refs, pictures)); err != nil {
		return "", err
	}
	return inlineimages.Insert(content, refs, pictures), nil
}

// inlinePictures reads the referenced images, each as a data: URL, up to inlineimages.MaxBytes in total.
func (s *Service) inlinePictures(ctx context.Context, all []db.AttachmentFile, refs []inlineimages.Reference) (map[string]string, error) {
	shown := map[string]bool{}
	for _, ref := range refs {
		shown[ref.ContentID] = true
	}
	var files []db.AttachmentFile
	var total int64
	for _, f := range all {
		if f.Inline() && shown[f.ContentID] && inlineimages.IsImage(f.ContentType) && total+f.Size <= inlineimages.MaxFileBytes {
			files, total = append(files, f), total+f.Size
		}
	}
	if total == 0 {
		return nil, nil
	}
	if err := membudget.Reserve(ctx, total*3); err != nil { // as bytes and as base64 text
		return nil, err
	}
	out := map[string]string{}
	for _, f := range files {
		picture, err := s.dataURL(ctx, f)
		if err != nil {
			return nil, err
		}
		out[f.ContentID] = picture
	}
	return out, nil
}

// dataURL reads an image as a data: URL.
func (s *Service) dataURL(ctx context.Context, f db.AttachmentFile) (string, error) {
	var content []byte
	next := s.pieces(f)
	for {
		piece, err := next(ctx)
		if err != nil {
			return "", err
		}
		if len(piece) == 0 {
			return inlineimages.DataURL(f.ContentType, content), nil
		}
		content = append(content, piece...)
	}
}
