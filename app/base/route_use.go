package base

import (
	"fmt"

	"mailer/app"
	"mailer/db"
)

// CheckNoRoute refuses to delete a template with which a route of the team answers mail. Errors: CodeConflict.
func CheckNoRoute(r *db.Reader, teamID, templateID string) error {
	routes, err := r.MailRoutes(teamID)
	if err != nil {
		return fmt.Errorf("read the routes of the team: %w", err)
	}
	for i := range routes {
		if routes[i].Uses(templateID) {
			return app.Errorf(app.CodeConflict, "The route for %s uses this template; change the route, then try again", routes[i].Match)
		}
	}
	return nil
}
