// Preferences kept in this browser: they are needed before sign-in.

/** @param {string} key @param {string|null|undefined} value */
function keep(key, value) {
	try {
		if (value) localStorage.setItem(key, value);
		else localStorage.removeItem(key);
	} catch { /* a browser that keeps nothing goes by its own */ }
}

/** Uses a language from the next visit on. @param {string|null} name null: the browser's */
export const keepLanguage = (name) => keep('mailer.language', name);

/** Uses a theme, now and from the next visit on. @param {string|null} theme "light", "dark", or null: the system's */
export function wear(theme) {
	keep('mailer.theme', theme);
	if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}
