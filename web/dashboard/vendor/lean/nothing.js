// Stands for what is left out: React's views of nodes, and code in colours.
export default {};
export const NodeViewContent = null;
export const NodeViewWrapper = null;
export const ReactNodeViewRenderer = () => null;
export const useEditorState = null;
export const fromHtml = null;
