package base

import (
	"fmt"

	"mailer/app"
	"mailer/db"
)

// CheckNoForm refuses to delete a topic, segment or template that a sign-up form of the team uses.
// kind is its name in the message. Errors: CodeConflict.
func CheckNoForm(r *db.Reader, teamID, kind, id string) error {
	forms, err := r.FormsAfter(teamID, "", CapForms.Max)
	if err != nil {
		return fmt.Errorf("read the forms of the team: %w", err)
	}
	for i := range forms {
		if forms[i].Uses(id) {
			return app.Errorf(app.CodeConflict, "The form %q uses this %s; change the form, then try again", forms[i].Name, kind)
		}
	}
	return nil
}
