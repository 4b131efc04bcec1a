//! A table that Python's data frames take over without a copy.
//!
//! Source: the Arrow PyCapsule interface (apache/arrow, `docs/source/format/CDataInterface`).

use crate::error;
use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sojourn_frame::{Column, Frame, Values, Words};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table of columns in Arrow's layout.
#[pyclass(frozen, module = "sojourn._native")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Takes a frame over. With `coded`, texts are numbers into a list of distinct ones; those that
    /// have an order are so always.
    pub(crate) fn of(frame: Frame, coded: bool) -> PyResult<Self> {
        let rows = frame.len();
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for Column {
            name,
            unit,
            meaning,
            values,
        } in frame.columns
        {
            let is_ordered = matches!(&values, Values::Text(words) if words.is_ordered());
            let array = array(values, coded);
            let told: BTreeMap<_, _> = [("unit", unit), ("meaning", meaning)]
                .into_iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(key, text)| (key.to_owned(), text))
                .collect();
            let field = Field::new(name, array.data_type().clone(), true).with_metadata(told);
            fields.push(field.with_dict_is_ordered(is_ordered));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        Ok(Self {
            batch: batch.map_err(raised)?,
        })
    }
}

impl Table {
    fn no_column(&self, name: &str) -> PyErr {
        let schema = self.batch.schema();
        let known: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        error::lookup("column", name, &known)
    }
}

fn raised(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The values in Arrow's layout; numbers stay where they are.
fn array(values: Values, coded: bool) -> ArrayRef {
    match values {
        Values::Number(numbers) => {
            let bits = BooleanBuffer::collect_bool(numbers.len(), |row| !numbers[row].is_nan());
            let there = Some(NullBuffer::new(bits)).filter(|there| there.null_count() > 0);
            Arc::new(Float64Array::new(ScalarBuffer::from(numbers), there))
        }
        Values::Whole(numbers) => Arc::new(Int64Array::from(numbers)),
        Values::Seed(seeds) => Arc::new(UInt64Array::from(seeds)),
        Values::Switch(switches) => Arc::new(BooleanArray::from(switches)),
        Values::Text(words) if coded || words.is_ordered() => Arc::new(dictionary(&words)),
        Values::Text(words) => Arc::new(words.iter().collect::<StringArray>()),
    }
}

fn objects<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    values: impl Iterator<Item = Option<T>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let object = |value: Option<T>| value.into_bound_py_any(py);
    values.map(object).collect()
}

fn dictionary(words: &Words) -> DictionaryArray<Int32Type> {
    let numbers = words
        .numbers()
        .iter()
        .map(|number| number.map(u32::cast_signed));
    let list = words.list().map(Some).collect::<StringArray>();
    DictionaryArray::new(numbers.collect::<Int32Array>(), Arc::new(list))
}

#[pymethods]
impl Table {
    /// The columns' names.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.batch.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        names.collect()
    }

    /// What is told of a column: its unit and its meaning, where there are any.
    fn about(&self, column: &str) -> PyResult<Vec<(String, String)>> {
        let schema = self.batch.schema();
        let field = schema
            .field_with_name(column)
            .map_err(|_| self.no_column(column))?;
        let mut told: Vec<_> = field.metadata().clone().into_iter().collect();
        told.sort();
        Ok(told)
    }

    /// A column's first values as Python's own, all without a number; None where there is none.
    #[pyo3(signature = (column, rows))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        column: &str,
        rows: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let whole = self
            .batch
            .column_by_name(column)
            .ok_or_else(|| self.no_column(column))?;
        let rows = rows.map_or(whole.len(), |rows| rows.min(whole.len()));
        let array = whole.slice(0, rows);
        match array.data_type() {
            DataType::Float64 => objects(py, array.as_primitive::<Float64Type>().iter()),
            DataType::Int64 => objects(py, array.as_primitive::<Int64Type>().iter()),
            DataType::UInt64 => objects(py, array.as_primitive::<UInt64Type>().iter()),
            DataType::Boolean => objects(py, array.as_boolean().iter()),
            DataType::Utf8 => objects(py, array.as_string::<i32>().iter()),
            _ => {
                let coded = array.as_dictionary::<Int32Type>();
                let texts = coded.downcast_dict::<StringArray>();
                objects(py, texts.into_iter().flatten())
            }
        }
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer pass over what it cannot cast to.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(raised)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
