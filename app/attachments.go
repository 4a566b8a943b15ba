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
	case hasControl(name):
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
	if len(a.ContentType) > maxContentType || hasControl(a.ContentType) {
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
		if !utf8.ValidString(value) || hasControl(value) {
			return "", Invalid(field, "must not contain control characters")
		}
	}
	normal := mime.FormatMediaType(mediaType, params)
	if normal == "" || len(normal) > 3*maxContentType {
		return "", Invalid(field, "must be a media type like application/pdf")
	}
	return normal, nil
}

// typeByName knows the files that people attach. A table of our own, because
// the one of package mime depends on files of the machine.
func typeByName(name string) string {
	dot := strings.LastIndexByte(name, '.')
	switch strings.ToLower(name[dot+1:]) {
	case "pdf":
		return "application/pdf"
	case "txt", "log", "md":
		return "text/plain; charset=utf-8"
	case "csv":
		return "text/csv; charset=utf-8"
	case "html", "htm":
		return "text/html; charset=utf-8"
	case "ics":
		return "text/calendar; charset=utf-8"
	case "vcf":
		return "text/vcard; charset=utf-8"
	case "json":
		return "application/json"
	case "xml":
		return "application/xml"
	case "zip":
		return "application/zip"
	case "gz", "tgz":
		return "application/gzip"
	case "7z":
		return "application/x-7z-compressed"
	case "tar":
		return "application/x-tar"
	case "rtf":
		return "application/rtf"
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "gif":
		return "image/gif"
	case "webp":
		return "image/webp"
	case "svg":
		return "image/svg+xml"
	case "tif", "tiff":
		return "image/tiff"
	case "heic":
		return "image/heic"
	case "mp3":
		return "audio/mpeg"
	case "wav":
		return "audio/wav"
	case "mp4":
		return "video/mp4"
	case "mov":
		return "video/quicktime"
	case "doc":
		return "application/msword"
	case "xls":
		return "application/vnd.ms-excel"
	case "ppt":
		return "application/vnd.ms-powerpoint"
	case "docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case "xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case "pptx":
		return "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	case "odt":
		return "application/vnd.oasis.opendocument.text"
	case "ods":
		return "application/vnd.oasis.opendocument.spreadsheet"
	}
	return octetStream
}
