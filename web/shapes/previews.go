package shapes

import (
	"mailer/app"
	"mailer/app/sending/mail"
)

// MailFrame is the URL of a preview for a frame.
type MailFrame struct {
	URL          *string `json:"url" format:"uri" doc:"Of a page without rights, for a frame: nothing in it runs. Needs no key; null: the draft is too large to be kept for one"`
	ExpiresAt    string  `json:"expires_at" format:"date-time" doc:"When the address ends, minutes from now"`
	RemoteImages int     `json:"remote_images" doc:"How many pictures the mail fetches from elsewhere, each once; of very many not all are counted. The page shows them only where images was asked for"`
	Height       int     `json:"height" doc:"How high the page is at the width of a desktop, in CSS pixels: an estimate by its text and the heights that it names"`
}

// NewMailFrame converts a preview; base is the server's URL.
func NewMailFrame(base string, p mail.Preview) MailFrame {
	out := MailFrame{ExpiresAt: app.FormatTime(p.Expires), RemoteImages: p.RemoteImages, Height: p.Height}
	if p.Token != "" {
		url := base + "/previews/" + p.Token
		out.URL = &url
	}
	return out
}
