// The types of editor.js, for the check in CI: it is used as it comes.
type Any = any;
export const EditorState: Any, Compartment: Any, StateField: Any, StateEffect: Any, RangeSet: Any, RangeValue: Any, Prec: Any;
export const EditorView: Any, keymap: Any, lineNumbers: Any, drawSelection: Any, highlightActiveLine: Any, highlightActiveLineGutter: Any, MatchDecorator: Any, ViewPlugin: Any, Decoration: Any;
export const defaultKeymap: Any, history: Any, historyKeymap: Any, indentWithTab: Any, invertedEffects: Any, html: Any, htmlLanguage: Any;
export const autocompletion: Any, completionKeymap: Any, closeBrackets: Any, closeBracketsKeymap: Any, linter: Any, lintKeymap: Any, forceLinting: Any;
export const syntaxHighlighting: Any, HighlightStyle: Any, bracketMatching: Any, indentOnInput: Any, indentUnit: Any, search: Any, searchKeymap: Any, highlightSelectionMatches: Any, tags: Any;
