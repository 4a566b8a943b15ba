package app

import (
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"mailer/app/kit/mailbox"
)

const (
	octetStream   = "application/octet-stream"
	calendarBegin = "BEGIN:VCALENDAR"
)

// AttachmentRules are the rules of the server for files. Callers can't set them.
type AttachmentRules struct {
	Compat Compat // empty: CompatStrict
	Fetch  bool   // the server fetches files from URLs
}

// attachments checks the files of an email and sets the id, type and size of each. It does not
// check the sum of their sizes, whose limit depends on the team's plan.
func (in *EmailInput) attachments(m *Mail) (err error) {
	m.Attachments, err = AttachmentRules{in.Compat, in.FetchAttachments}.check(in.Attachments)
	return err
}

// check returns the files of a list with ids, types and sizes. A file with an id is one that the
// broadcast has; it is returned as it is.
func (r AttachmentRules) check(list []Attachment) (out []Attachment, err error) {
	if len(list) > MaxAttachments {
		return nil, Invalid("attachments", "must not hold more than %d files", MaxAttachments)
	}
	shown := map[string]bool{}
	for i, a := range list {
		field := fmt.Sprintf("attachments[%d]", i)
		if a.ID != "" {
			out = append(out, a)
			continue
		}
		if a, err = r.checkFile(field, a); err != nil {
			return nil, err
		}
		if shown[a.ContentID] {
			return nil, Invalid(field+".content_id", "is given twice")
		}
		shown[a.ContentID] = a.ContentID != ""
		out = append(out, a)
	}
	return out, nil
}

// checkFile returns one file with id, type and size.
func (r AttachmentRules) checkFile(field string, a Attachment) (Attachment, error) {
	if err := r.path(field+".path", &a); err != nil {
		return a, err
	}
	if err := checkFilename(field+".filename", a.Filename); err != nil {
		return a, err
	}
	contentType, err := attachmentType(field+".content_type", a)
	if err != nil {
		return a, err
	}
	if err := r.contentID(field+".content_id", a.ContentID); err != nil {
		return a, err
	}
	if a.Text != "" {
		if a.Content, contentType, err = r.rawText(field+".content", a.Text, contentType); err != nil {
			return a, err
		}
	}
	if a.Content == nil && a.Path == "" {
		return a, Invalid(field+".content", "is required")
	}
	a.ID, a.ContentType, a.Size, a.Text = NewID(), contentType, int64(len(a.Content)), ""
	return a, nil
}

// path checks the URL that a file is fetched from. Without a file name it sets the last part of the
// URL's path.
func (r AttachmentRules) path(field string, a *Attachment) error {
	switch {
	case a.Path == "":
		return nil
	case !r.Fetch:
		return Invalid(field, "is not supported: files are never fetched, send the `content` itself; the operator can allow it with --fetch-attachments")
	case a.Content != nil || a.Text != "":
		return Invalid(field, "can't be combined with `content`")
	case len(a.Path) > maxFetchURL:
		return Invalid(field, "must not be longer than %d bytes", maxFetchURL)
	}
	u, err := url.Parse(a.Path)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || HasControl(a.Path):
		return Invalid(field, "must be an https URL like https://files.example.com/invoice.pdf")
	case u.User != nil:
		return Invalid(field, "must not contain a user name or password")
	}
	if a.Filename == "" {
		a.Filename = path.Base(u.Path)
	}
	return nil
}

// contentID checks a Content-ID as it is written between angle brackets and after cid: in HTML
// (RFC 2392): atoms and dots, with an @ before an optional second half.
func (r AttachmentRules) contentID(field, s string) error {
	switch {
	case s == "":
		return nil
	case r.Compat != CompatResend:
		return Invalid(field, "is not supported: attachments can't be shown inside the HTML, unless the server runs with --compat resend")
	case len(s) > MaxContentID:
		return Invalid(field, "must not be longer than %d bytes", MaxContentID)
	}
	left, right, two := strings.Cut(s, "@")
	if !isDotAtoms(left) || two && !isDotAtoms(right) {
		return Invalid(field, "must be of letters, digits, dots, dashes and underscores like logo or logo@example.com, without angle brackets")
	}
	return nil
}

// isDotAtoms reports whether s is dot-atom-text (RFC 5322 3.2.3) in ASCII.
func isDotAtoms(s string) bool {
	for _, r := range s {
		if r >= utf8.RuneSelf || r != '.' && !mailbox.IsAtext(r) {
			return false
		}
	}
	return s != "" && s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
}

// rawText returns the content of a file whose content is text instead of base64. Only CompatResend
// allows this, and only for calendars, which must begin as RFC 5545 3.4 says: damaged base64 is
// not a calendar.
func (r AttachmentRules) rawText(field, text, contentType string) (content []byte, normalType string, err error) {
	mediaType, params, _ := mime.ParseMediaType(contentType)
	begins := len(text) >= len(calendarBegin) && strings.EqualFold(text[:len(calendarBegin)], calendarBegin)
	if r.Compat != CompatResend || mediaType != "text/calendar" || !begins || !utf8.ValidString(text) {
		return nil, "", Invalid(field, "must be valid base64")
	}
	if params["charset"] == "" {
		params["charset"] = "utf-8"
		contentType = mime.FormatMediaType(mediaType, params)
	}
	return []byte(text), contentType, nil
}

// checkFilename accepts names in any script, but none that could leave the directory in which a
// mail reader saves the file.
func checkFilename(field, name string) error {
	switch {
	case name == "":
		return Invalid(field, "is required")
	case len(name) > maxFilename:
		return Invalid(field, "must not be longer than %d bytes", maxFilename)
	case !utf8.ValidString(name):
		return Invalid(field, "must be valid UTF-8")
	case HasControl(name):
		return Invalid(field, "must not contain control characters")
	case strings.ContainsAny(name, `/\`) || name == "." || name == "..":
		return Invalid(field, "must be a file name without a path")
	case strings.Trim(name, " ") == "":
		return Invalid(field, "must not be blank")
	}
	return nil
}

// attachmentType returns the given type in canonical form, or the type of the file name's
// extension.
func attachmentType(field string, a Attachment) (string, error) {
	if a.ContentType == "" {
		return typeByName(a.Filename), nil
	}
	if len(a.ContentType) > maxContentType || HasControl(a.ContentType) {
		return "", Invalid(field, "must be a media type like application/pdf")
	}
	mediaType, params, err := mime.ParseMediaType(a.ContentType)
	if err != nil || !strings.Contains(mediaType, "/") {
		return "", Invalid(field, "must be a media type like application/pdf")
	}
	// RFC 2045 6.4 forbids base64 for these two, so they can't be attached.
	if strings.HasPrefix(mediaType, "multipart/") || strings.HasPrefix(mediaType, "message/") {
		return "", Invalid(field, "must not be a multipart or message type")
	}
	for _, value := range params {
		if !utf8.ValidString(value) || HasControl(value) {
			return "", Invalid(field, "must not contain control characters")
		}
	}
	normal := mime.FormatMediaType(mediaType, params)
	if normal == "" || len(normal) > 3*maxContentType {
		return "", Invalid(field, "must be a media type like application/pdf")
	}
	return normal, nil
}

// typeByName returns the media type for the extension of a file name.
func typeByName(name string) string {
	ending := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	if known, ok := typesByEnding[ending]; ok {
		return known
	}
	return octetStream
}

// typesByEnding maps extensions of common files to media types. The table of package mime is not
// used because it depends on files of the machine.
var typesByEnding = map[string]string{
	"pdf":  "application/pdf",
	"txt":  "text/plain; charset=utf-8",
	"log":  "text/plain; charset=utf-8",
	"md":   "text/plain; charset=utf-8",
	"csv":  "text/csv; charset=utf-8",
	"html": "text/html; charset=utf-8",
	"htm":  "text/html; charset=utf-8",
	"ics":  "text/calendar; charset=utf-8",
	"vcf":  "text/vcard; charset=utf-8",
	"json": "application/json",
	"xml":  "application/xml",
	"zip":  "application/zip",
	"gz":   "application/gzip",
	"tgz":  "application/gzip",
	"7z":   "application/x-7z-compressed",
	"tar":  "application/x-tar",
	"rtf":  "application/rtf",
	"png":  "image/png",
	"jpg":  "image/jpeg",
	"jpeg": "image/jpeg",
	"gif":  "image/gif",
	"webp": "image/webp",
	"svg":  "image/svg+xml",
	"tif":  "image/tiff",
	"tiff": "image/tiff",
	"heic": "image/heic",
	"mp3":  "audio/mpeg",
	"wav":  "audio/wav",
	"mp4":  "video/mp4",
	"mov":  "video/quicktime",
	"doc":  "application/msword",
	"xls":  "application/vnd.ms-excel",
	"ppt":  "application/vnd.ms-powerpoint",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"odt":  "application/vnd.oasis.opendocument.text",
	"ods":  "application/vnd.oasis.opendocument.spreadsheet",
}
