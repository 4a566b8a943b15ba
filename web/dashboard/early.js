// Runs before the modules: sets the theme before the first paint, and starts the requests
// that every page needs.
{
	const kept = (name) => {
		try {
			return localStorage.getItem(name);
		} catch {
			return null; // a browser that keeps nothing has the system's
		}
	};
	const theme = kept('mailer.theme');
	if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
	const script = /** @type {HTMLScriptElement} */ (document.currentScript);
	const languages = (script.dataset.languages ?? '').split(' ');
	// The language chosen, or the browser's first that there is a file for.
	const preferred = () => [kept('mailer.language'), ...navigator.languages].map((l) => (l ?? '').slice(0, 2)).find((l) => languages.includes(l)) ?? 'en';
	const language = preferred();
	// Each answer is used once; later readers request again.
	const asked = (address) => fetch(address).catch(() => null);
	/** @type {any} */ (globalThis).early = {
		preferred,
		language,
		words: asked(new URL(`./i18n/${language}.json`, script.src)),
		me: script.dataset.open === undefined ? asked('/users/me') : null,
	};
}
