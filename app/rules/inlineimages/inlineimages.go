// Package inlineimages writes the images of an email into its HTML: cid: URLs, which name files of the same email,
// become data: URLs. It does no I/O and keeps no state, and takes linear time.
//
// Failure policy: a URL without an image, or beyond the limit, is kept.
package inlineimages

import (
	"encoding/base64"
	"html"
	"net/url"
	"strings"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// MaxBytes bounds the data: URLs in one HTML, in bytes.
const MaxBytes = 8 << 20

// MaxFileBytes bounds the images of one HTML before they are encoded, in bytes.
const MaxFileBytes = MaxBytes * 3 / 4

// Reference is a cid: URL in HTML.
type Reference struct {
	ContentID string
	from, to  int
}

// References finds the cid: URLs after a quote, a parenthesis or an equals sign.
func References(content string) (out []Reference) {
	const scheme = "cid:"
	for at := 1; ; {
		n := strings.IndexByte(content[min(at, len(content)):], ':')
		if n < 0 {
			return out
		}
		from := at + n + 1 - len(scheme)
		at += n + 1
		if from < 1 || !htmltext.EqualASCII(content[from:at], scheme) || !strings.ContainsRune(`"'(=`, rune(content[from-1])) {
			continue
		}
		rest := content[at:min(len(content), at+6*app.MaxContentID)]
		end := strings.IndexAny(rest, "\"') >\t\r\n")
		if end < 0 {
			continue
		}
		out = append(out, Reference{ContentID: contentIDOf(rest[:end]), from: from, to: at + end})
		at += end
	}
}

// contentIDOf returns the Content-ID of a cid: URL in HTML.
func contentIDOf(address string) string {
	address = html.UnescapeString(address)
	if plain, err := url.PathUnescape(address); err == nil {
		return plain
	}
	return address
}

// IsImage reports whether a media type is that of an image.
func IsImage(contentType string) bool {
	return strings.HasPrefix(strings.ToLower(contentType), "image/")
}

// DataURL returns an image as a data: URL.
func DataURL(contentType string, content []byte) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	if strings.ContainsFunc(kind, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789/+.-", c) }) {
		kind = "image/png" // browsers detect the type from the bytes
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content)
}

// Growth returns the memory that Insert needs for its result, in bytes.
func Growth(content string, refs []Reference, images map[string]string) int64 {
	var total int64
	for _, ref := range refs {
		total += int64(len(images[ref.ContentID]))
	}
	return min(total, MaxBytes) + int64(len(content))
}

// Insert replaces the references of an HTML by the data: URLs in images, by Content-ID. An image that is used again is
// written again, up to MaxBytes in all.
func Insert(content string, refs []Reference, images map[string]string) string {
	var out strings.Builder
	copied, budget := 0, MaxBytes
	for _, ref := range refs {
		image := images[ref.ContentID]
		if image == "" || len(image) > budget {
			continue
		}
		budget -= len(image)
		out.WriteString(content[copied:ref.from])
		out.WriteString(image)
		copied = ref.to
	}
	out.WriteString(content[copied:])
	return out.String()
}
