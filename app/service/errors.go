package service

import (
	"errors"

	"mailer/db"
)

// IgnoreGone lets a unit that was withdrawn meanwhile pass.
func IgnoreGone(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}
