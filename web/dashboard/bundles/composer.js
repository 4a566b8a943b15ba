// shared:composer.js
import { composer$Lint, composer$Part, composer$Refused, composer$default, composer$useKnown } from "./shared.js";
export {
  composer$Lint as Lint,
  composer$Part as Part,
  composer$Refused as Refused,
  composer$default as default,
  composer$useKnown as useKnown
};
