// Adds a number of the step as a whole to the chart.

import type { JSX } from "preact";
import { quantityMeaning } from "../../model/flow/scalar_line";
import { drawnRuns, type FetchedCharts } from "./charts_data";
import { addQuantity, missingQuantities, offeredQuantities } from "./quantity_lines";

export function QuantityPicker({ charting }: { readonly charting: FetchedCharts }): JSX.Element | null {
  const offered = offeredQuantities(charting, drawnRuns(charting));
  if (offered.length === 0) return null;
  return (
    <div class="quantities">
      <select
        data-testid="add-quantity"
        aria-label="Add a number of the step"
        title="Numbers of each step as a whole, such as the loss and the norm of all gradients"
        value=""
        onChange={(event) => {
          addQuantity(charting, event.currentTarget.value);
          event.currentTarget.value = "";
        }}
      >
        <option value="">Add a number of the step…</option>
        {offered.map((name) => (
          <option key={name} value={name} title={quantityMeaning(name)}>
            {name}
          </option>
        ))}
        {missingQuantities(charting).map(([name, why]) => (
          <option key={name} disabled title={why}>
            {name}: {why}
          </option>
        ))}
      </select>
    </div>
  );
}
