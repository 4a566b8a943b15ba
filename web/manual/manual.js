// Adds a copy button to each block of code. Without a script the manual reads the same.
for (const pre of document.querySelectorAll('.manual-text pre')) {
	if (!navigator.clipboard) break;
	const button = document.createElement('button');
	button.type = 'button';
	button.className = 'btn manual-copy';
	button.textContent = 'Copy';
	const code = pre.textContent;
	button.addEventListener('click', async () => {
		try {
			await navigator.clipboard.writeText(code);
			button.textContent = 'Copied';
		} catch {
			button.textContent = 'Not copied';
		}
		setTimeout(() => { button.textContent = 'Copy'; }, 2000);
	});
	pre.append(button);
}
