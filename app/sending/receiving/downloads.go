package receiving

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/membudget"
	"mailer/app/rules/inbound"
	"mailer/app/rules/inlineimages"
	"mailer/db"
)

// downloadTTL is how long a download URL works.
const downloadTTL = time.Hour

const (
	downloadPurpose = "received v1"
	idLen           = 36
	rawTokenLen     = 8 + 2*idLen // an expiry, and the ids of a team and an email
	fileTokenLen    = rawTokenLen + idLen
)

// maxInlineImages is how many different images InlineImages writes: it reads the message once for each.
const maxInlineImages = 50

// DownloadToken returns the signed part of a download URL, and when it expires. An empty fileID stands for the whole
// message.
func (s *Service) DownloadToken(key *app.Key, id, fileID string) (token string, expires time.Time) {
	expires = clock.Now().Add(downloadTTL).Truncate(time.Second)
	message := binary.BigEndian.AppendUint64(make([]byte, 0, fileTokenLen), uint64(expires.Unix()))
	return s.Sealer.SealToken(downloadPurpose, append(message, key.TeamID+id+fileID...)), expires
}

// Download is a message or an attachment that is about to be read.
type Download struct {
	ID          string // of the email
	Filename    string
	ContentType string
	Size        int64 // bytes
	Memory      int64 // bytes that Next needs
	// Next returns the next piece; nil after the last one. Error: CodeNotFound if the email was deleted meanwhile.
	Next func(context.Context) ([]byte, error)
}

// OpenDownload returns what a download token stands for. It reads no content. Errors: CodeNotFound, with the same
// message for an invalid and an expired token.
func (s *Service) OpenDownload(ctx context.Context, token string) (*Download, error) {
	message, ok := s.Sealer.OpenToken(downloadPurpose, token, rawTokenLen, fileTokenLen)
	if !ok || clock.Now().Unix() > int64(binary.BigEndian.Uint64(message)) {
		return nil, app.NotFound("file")
	}
	ids := string(message[8:])
	teamID, id, fileID := ids[:idLen], ids[idLen:2*idLen], ids[2*idLen:]
	m, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Received, error) { return r.Received(teamID, id) })
	if err != nil {
		return nil, base.Lookup("file", err)
	}
	if fileID == "" {
		return &Download{ID: id, Filename: id + ".eml", ContentType: "message/rfc822", Size: m.Size, Memory: 2 * min(m.Size, app.ReceivedPiece), Next: s.pieces(id)}, nil
	}
	f := fileOf(&m, fileID)
	if f == nil {
		return nil, app.NotFound("file")
	}
	return &Download{ID: id, Filename: f.Filename, ContentType: f.ContentType, Size: f.Size, Memory: m.Size + 2*f.Size, Next: s.part(teamID, id, f.Part)}, nil
}

// pieces returns a function that reads the message in pieces.
func (s *Service) pieces(id string) func(context.Context) ([]byte, error) {
	n := 0
	return func(ctx context.Context) ([]byte, error) {
		piece, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.ReceivedPiece(id, n) })
		switch {
		case err == nil:
			n++
			return piece, nil
		case errors.Is(err, db.ErrNotFound) && n > 0:
			return nil, nil
		}
		return nil, base.Lookup("file", err)
	}
}

// part returns a function that reads a part of the message as one piece.
func (s *Service) part(teamID, id string, part int) func(context.Context) ([]byte, error) {
	read := false
	return func(ctx context.Context) ([]byte, error) {
		if read {
			return nil, nil
		}
		read = true
		raw, err := s.Raw(ctx, teamID, id)
		if err != nil {
			return nil, err
		}
		content, ok := inbound.Part(raw, part)
		if !ok {
			return nil, app.NotFound("file")
		}
		return content, nil
	}
}

// InlineImages returns the HTML of a received email with data: URLs in place of the cid: URLs of its images, up to
// inlineimages.MaxBytes and maxInlineImages; the others stay. Errors: that of membudget.Reserve.
func (s *Service) InlineImages(ctx context.Context, m *app.Received) (string, error) {
	refs := inlineimages.References(m.HTML)
	shown := map[string]bool{}
	for _, ref := range refs {
		shown[ref.ContentID] = true
	}
	files := map[string]*app.ReceivedFile{} // by Content-ID
	var total int64
	for i := range m.Files {
		f := &m.Files[i]
		if shown[f.ContentID] && files[f.ContentID] == nil && inlineimages.IsImage(f.ContentType) && total+f.Size <= inlineimages.MaxFileBytes && len(files) < maxInlineImages {
			files[f.ContentID], total = f, total+f.Size
		}
	}
	if len(files) == 0 {
		return m.HTML, nil
	}
	if err := membudget.Reserve(ctx, m.Size+3*total); err != nil { // the message, and images as bytes and as base64 text
		return "", err
	}
	raw, err := s.Raw(ctx, m.TeamID, m.ID)
	if err != nil {
		return "", err
	}
	images := map[string]string{}
	for id, f := range files {
		if content, ok := inbound.Part(raw, f.Part); ok {
			images[id] = inlineimages.DataURL(f.ContentType, content)
		}
	}
	if err := membudget.Reserve(ctx, inlineimages.Growth(m.HTML, refs, images)); err != nil {
		return "", err
	}
	return inlineimages.Insert(m.HTML, refs, images), nil
}
