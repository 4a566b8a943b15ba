// A team's brand: the contrast of its color, and the values for the visual editor and
// previews. app/rules/brand has the same rules for hosted pages.

/** The minimum contrast of WCAG 2.2 at level AA. */
export const enough = 4.5;

const white = '#ffffff';
const ink = '#1b1f27';

/** Font stacks by name, as app/brand has them. @type {Record<string, string>} */
export const stacks = {
	system: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
	arial: 'Arial, Helvetica, sans-serif',
	verdana: 'Verdana, Geneva, sans-serif',
	georgia: "Georgia, 'Times New Roman', serif",
	times: "'Times New Roman', Times, serif",
	courier: "'Courier New', Courier, monospace",
};

/** Whether the API accepts a text as a color. @param {string} text */
export const isColor = (text) => /^#[0-9a-f]{6}$/i.test(text);

/** The relative luminance of a color (WCAG 2.2). @param {string} color */
function luminance(color) {
	const [r, g, b] = [1, 3, 5].map((at) => {
		const c = parseInt(color.slice(at, at + 2), 16) / 255;
		return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast ratio of a color with white. @param {string} color */
export const contrast = (color) => 1.05 / (luminance(color) + 0.05);

/** The contrast ratio of text on a card of the hosted pages. @param {string} [text] @param {string} [card] */
export function between(text, card) {
	const [a, b] = [luminance(text || ink), luminance(card || white)];
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** The colors derived from a team's: of buttons, their text, and links. @param {string|null} color */
export function colorsOf(color) {
	if (!color) return { button: ink, on: white, link: ink };
	const dark = contrast(color) >= enough;
	return { button: color, on: dark ? white : '#000000', link: dark ? color : ink };
}

/** The most pixels of a logo in an email. */
const high = 48;
const wide = 240;

/**
 * The brand for the visual editor. An uploaded logo has a size, and a URL on this server that
 * the editor can show.
 * @param {any} brand as GET /team/brand answers
 */
export function kitOf(brand) {
	const part = brand.logo_width ? Math.min(1, high / brand.logo_height, wide / brand.logo_width) : 0;
	return {
		name: brand.name, footer: brand.footer, colors: brand.color ? colorsOf(brand.color) : null, font: brand.font === 'system' ? null : brand.font_stack,
		logo: brand.logo_url && { src: brand.logo_url, shown: part ? new URL(brand.logo_url).pathname : null, width: part ? Math.max(1, Math.round(brand.logo_width * part)) : null, height: part ? Math.max(1, Math.round(brand.logo_height * part)) : high },
	};
}
