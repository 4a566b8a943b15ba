// shared:composer.js
import { composer$Lint, composer$default, composer$useKnown } from "./shared.js";
export {
  composer$Lint as Lint,
  composer$default as default,
  composer$useKnown as useKnown
};
