package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/rules/brand"
	"mailer/app/server"
	"mailer/app/tenants/teams"
)

// setBrand is the command that sets a team's logo, color, font and footer.
func (c *Store) setBrand() *cobra.Command {
	var logo, color, font, footer string
	fonts := make([]string, len(brand.Fonts))
	for i, f := range brand.Fonts {
		fonts[i] = string(f)
	}
	cmd := newCommand("set-brand TEAM", "Set logo, color, font and footer of a team's visual email and hosted pages", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		given := func(name, value string) app.Change[string] {
			return app.Change[string]{Set: cmd.Flags().Changed(name), Value: value}
		}
		change := teams.BrandChange{Color: given("color", color), Font: given("font", font), Footer: given("footer", footer)}
		newLogo := cmd.Flags().Changed("logo")
		if !newLogo && change == (teams.BrandChange{}) {
			return errors.New("use --logo, --color, --font or --footer")
		}
		return c.with(cmd, true, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.FindTeam(ctx, args[0])
			if err != nil {
				return err
			}
			b, err := e.Brands.UpdateBrand(ctx, team.ID, change)
			if err == nil && newLogo {
				b, err = setLogo(ctx, e.Brands, team.ID, logo)
			}
			if err != nil {
				return err
			}
			return c.printDone(brandObject(&team, &b), brandText(&b))
		})
	})
	cmd.Flags().StringVar(&logo, "logo", "", "file of a PNG, JPEG or WebP of at most 512 KB; empty: no logo")
	cmd.Flags().StringVar(&color, "color", "", "color of buttons and links, like '#0a7d33'; empty: dark ink")
	cmd.Flags().StringVar(&font, "font", "", strings.Join(fonts, ", ")+"; empty: system")
	cmd.Flags().StringVar(&footer, "footer", "", "text with the postal address, of at most 10 lines; empty: none")
	return c.jsonFlag(cmd)
}

// setLogo stores the picture of a file as the logo of a team. An empty path removes the logo.
func setLogo(ctx context.Context, brands *teams.Brands, teamID, path string) (brand.Brand, error) {
	if path == "" {
		return brands.RemoveLogo(ctx, teamID)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return brand.Brand{}, fmt.Errorf("--logo: %w", err)
	}
	b, err := brands.SetLogo(ctx, teamID, content)
	var refusal *app.Error
	if errors.As(err, &refusal) && refusal.Code == app.CodeValidation {
		return b, fmt.Errorf("--logo: %s %s", path, strings.TrimPrefix(refusal.Message, "`content` "))
	}
	return b, err
}

func brandObject(team *app.Team, b *brand.Brand) map[string]any {
	return map[string]any{"object": "brand", "team_id": team.ID, "name": team.Name, "logo": b.Logo.ID != "" || b.LogoURL != "",
		"color": b.Color, "font": cmp.Or(b.Font, brand.SystemFont), "footer": b.Footer}
}

func brandText(b *brand.Brand) string {
	logo := "no logo"
	switch {
	case b.Logo.ID != "":
		logo = fmt.Sprintf("logo of %d x %d pixels", b.Logo.Width, b.Logo.Height)
	case b.LogoURL != "":
		logo = "logo " + b.LogoURL
	}
	footer := "no footer"
	if b.Footer != "" {
		footer = "footer " + strings.ReplaceAll(b.Footer, "\n", ", ")
	}
	return fmt.Sprintf("%s; color %s; font %s; %s", logo, cmp.Or(b.Color, brand.Ink), cmp.Or(b.Font, brand.SystemFont), footer)
}
