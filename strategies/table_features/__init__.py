"""Features that a target has by its protocol: properties, layouts and columns of a special kind."""
