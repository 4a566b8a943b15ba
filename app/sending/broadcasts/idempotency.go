package broadcasts

import (
	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/db"
)

// keepView is what keep notes of a broadcast: answers to changes show no content.
func keepView(tx *db.Tx, keep mail.Keeper[BroadcastView], v *BroadcastView) error {
	head := *v
	head.BroadcastContent = app.BroadcastContent{}
	return keep(tx, &head)
}
