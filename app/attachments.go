package app

import (
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"
)

const (
	maxFilename    = 255 // bytes, as file systems have it
	maxContentType = 255
	octetStream    = "application/octet-stream"
)

// parseAttachments checks the files of an email and gives each an id, its type
// and its size. The ceiling on their sum is a matter of the team's plan and is
// not checked here.
func parseAttachments(in []Attachment) ([]Attachment, error) {
	if len(in) > MaxAttachments {
		return nil, Invalid("attachments", "must not hold more than %d files", MaxAttachments)
	}
	var out []Attachment
	for i, a := range in {
		field := fmt.Sprintf("attachments[%d]", i)
		if err := checkFilename(field+".filename", a.Filename); err != nil {
			return nil, err
		}
		contentType, err := attachmentType(field+".content_type", a)
		if err != nil {
			return nil, err
		}
		if a.Content == nil {
			return nil, Invalid(field+".content", "is required")
		}
		out = append(out, Attachment{
			ID:          NewID(),
			Filename:    a.Filename,
			ContentType: contentType,
			Size:        int64(len(a.Content)),
			Content:     a.Content,
		})
	}
	return out, nil
}

// checkFilename takes any script but nothing that could leave the directory in
// which a reader saves the file.
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

// attachmentType is the type that was given, in its normal form, else the one
// that the file name tells.
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
	// RFC 2045 6.4: these two can't be in base64, so they can't be attached as
	// the bytes that they are.
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

// typeByName returns the media type that the ending of a file name stands for.
func typeByName(name string) string {
	ending := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	if known, ok := typesByEnding[ending]; ok {
		return known
	}
	return octetStream
}

// typesByEnding holds the files that people attach. A table of our own, because
// the one of package mime depends on files of the machine.
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
