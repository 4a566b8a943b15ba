// shared:templates.js
import { templates$default, templates$duplicateTemplate, templates$removeTemplate } from "./shared.js";
export {
  templates$default as default,
  templates$duplicateTemplate as duplicateTemplate,
  templates$removeTemplate as removeTemplate
};
