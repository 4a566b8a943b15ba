// The theme that this reader chose, before the first paint.
try {
	const theme = localStorage.getItem('mailer.theme');
	if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* a browser that keeps nothing has the system's */ }
