// A share from 0 to 1, entered in percent.
import type { JSX } from "preact";
import type { FieldProps } from "./field.tsx";
import { NumberField } from "./inputs.tsx";

/** An empty field is null. */
export function PercentField(props: FieldProps): JSX.Element {
  const { form } = props;
  const source = {
    ...form,
    get(path: string) {
      const share = form.get(path);
      // Shares such as 0.29 have no exact number of percent.
      return typeof share === "number" ? Math.round(share * 1e6) / 1e4 : share;
    },
    set: (path: string, value: unknown) => form.set(path, typeof value === "number" ? value / 100 : value),
  };
  return <NumberField {...props} form={source} unit="%" emptyValue={null} />;
}
