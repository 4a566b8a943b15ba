package app

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Image is an uploaded image of a team, for mail. Its bytes never change.
type Image struct {
	ID     string
	TeamID string
	Name   string // in its URL: a keyed hash of team and uploaded file, as 32 hexadecimal digits
	Type   string // image/png, image/jpeg or image/gif
	Alt    string // alternative text; empty: none
	// OnBase: the server had one team when it was uploaded, so that the host of the base URL serves it.
	OnBase     bool
	Sizes      []ImageSize // the widest first
	UsedAt     time.Time   // when content with its address was first stored; zero: never
	UploadedAt time.Time   // last upload of the file
	CreatedAt  time.Time
}

// ImageSize is an image in one of its sizes.
type ImageSize struct {
	Width  int   `json:"width"` // pixels
	Height int   `json:"height"`
	Bytes  int64 `json:"bytes"`
}

// Bytes returns the bytes of all sizes.
func (i *Image) Bytes() (n int64) {
	for _, s := range i.Sizes {
		n += s.Bytes
	}
	return n
}

// ImageWidths are the widths in which images are stored, in pixels: a mail is 600 pixels wide, or 1200
// on a dense screen. A narrower image keeps its width.
var ImageWidths = []int{1200, 600}

// ImagePath is the path of images on the hosts that serve them. Logos are there too.
const ImagePath = "/i/"

// imageExtensions are the file extensions in paths.
var imageExtensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif"}

// Path returns the path of the n-th size.
func (i *Image) Path(n int) string {
	path := ImagePath + i.Name
	if n > 0 {
		path += "-" + strconv.Itoa(i.Sizes[n].Width)
	}
	return path + imageExtensions[i.Type]
}

// imageNameLength is the length of the name of an image.
const imageNameLength = 32

// maxImageNames bounds the images of one content: more than any mail has.
const maxImageNames = 500

// ImageNames returns the names of images, or of logos, whose addresses may be in texts, each once
// and at most maxImageNames.
func ImageNames(texts ...string) (names []string) {
	for _, text := range texts {
		for {
			_, rest, found := strings.Cut(text, ImagePath)
			if !found || len(names) == maxImageNames {
				break
			}
			text = rest
			if len(rest) >= imageNameLength && isImageName(rest[:imageNameLength]) && !slices.Contains(names, rest[:imageNameLength]) {
				names = append(names, rest[:imageNameLength])
			}
		}
	}
	return names
}

func isImageName(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// CheckImageAlt checks an alternative text and returns it without white space around it. Error:
// CodeValidation.
func CheckImageAlt(text string) (string, error) {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > MaxImageAlt || !utf8.ValidString(text) || HasControl(text) {
		return "", Invalid("alt", "must be one line of text of at most %d characters", MaxImageAlt)
	}
	return text, nil
}
