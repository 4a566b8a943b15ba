package broadcasts

import (
	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/db"
)

// keepView stores the answer to a change, without the content.
func keepView(tx *db.Tx, keep mail.Keeper[BroadcastView], v *BroadcastView) error {
	head := *v
	head.BroadcastContent = app.BroadcastContent{}
	return keep(tx, &head)
}
